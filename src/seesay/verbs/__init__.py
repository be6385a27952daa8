"""The functions of seesay, which the command line and the web page call.

Images go in as anything that `seesay.open_image` opens, weights as a name, a folder or a loaded model. Out come small
frozen dataclasses with `to_dict()`, which is what `--json` prints.
"""
