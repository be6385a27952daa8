"""How the help of a command is laid out."""

AS_IT_IS = "\b"
"""Begins a paragraph of help whose lines stay lines."""


def join_lines(text: str) -> str:
    """Help with one line for each paragraph, for a terminal to break where it ends; examples stay as they are.

    Example:
        >>> join_lines("One sentence\\nin two lines.\\n\\n\\b\\nExamples:\\n    seesay models")
        'One sentence in two lines.\\n\\n\\x08\\nExamples:\\n    seesay models'
    """
    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(part if part.startswith(AS_IT_IS) else " ".join(part.split()) for part in paragraphs)
