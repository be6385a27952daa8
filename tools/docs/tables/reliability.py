"""Tables of SECURITY.md: what was tried, and what came of it."""

from typing import Any

from tables.reading import dated, result, table

_KINDS = {
    "kill": "killed",
    "full": "the disk fills up",
    "damage": "its file is cut or changed",
    "changes": "photos change",
}


def hostile_lines() -> str:
    found = result("hostile")
    faults = found["faults"]
    rows: list[list[object]] = [
        ["command lines run", f"{found['n_run']:,} of {found['n_cases']:,}, of {found['n_commands']} commands"],
        ["tracebacks", faults.get("traceback", 0)],
        ["more than ten seconds", faults.get("hang", 0)],
        ["other exit codes than 0, 1, 2", sum(n for kind, n in faults.items() if kind.startswith("exit code"))],
        ["more than 2 GB", faults.get("memory", 0)],
        ["changed inputs", faults.get("an input was changed", 0)],
        ["connections", faults.get("connection", 0)],
        ["terminal control sequences", faults.get("steers the terminal", 0)],
    ]
    note = (
        f"{found['n_forked']:,} lines ran in forks of a process that had imported commands, {found['n_fresh']:,} in "
        f"fresh processes; {found['minutes']:.0f} minutes, seed {found['seed']}."
    )
    if found["mended"]:
        kinds = ", ".join(f"{kind} ({n})" for kind, n in found["mended"].items())
        note += f" Failed at first, were fixed and covered by tests, and passed when run again: {kinds}."
    again = result("hostile_again")
    note += (
        f" Run again on {again['date'][:10]}, with seed {again['seed']}, as far as a machine with much else to do got: "
        f"{again['n_run']:,} of {again['n_cases']:,} lines, {sum(again['faults'].values())} faults."
    )
    text = table(["", ""], rows) + f"\n{note}"
    return dated(text, found, "python -m benchmarks.reliability.hostile")


def fuzzed() -> str:
    found = result("fuzz")
    targets = found["targets"]
    rows: list[list[object]] = [
        [name, f"{row['cases']:,}", _share(row), f"{row['cpu_seconds'] / 60:.1f}", _reach(row), row["crashes"],
         row["hangs"]]
        for name, row in sorted(targets.items())
    ]  # fmt: skip
    minutes = sum(row["cpu_seconds"] for row in targets.values()) / 60
    rows.append(
        ["together", f"{found['cases']:,}", _share(found), f"{minutes:.1f}", "", found["crashes"], found["hangs"]]
    )
    heads = ["what is read", "cases", "read without an error", "CPU minutes", "places reached", "crashes", "hangs"]
    text = table(heads, rows)
    for again, what in ((False, "Found on the way, fixed and covered by tests"), (True, "Run again without a fault")):
        known = [each for each in found["mended"] if each.get("again", False) is again]
        if known:
            text += f"\n{what}: " + ", ".join(f"{each['target']} ({'; '.join(each['faults'])[:100]})" for each in known)
            text += "."
    return dated(text, found, "python -m benchmarks.reliability.fuzz")


def _share(row: dict[str, Any]) -> str:
    return f"{row['read'] / max(1, row['cases']):.0%}"


def _reach(row: dict[str, Any]) -> str:
    """Places of the code at first and in the end, where a run has watched them."""
    watched = [run["places"] for run in row["runs"] if "places" in run]
    return f"{watched[0][0]:,} → {max(last for _, last in watched):,}" if watched else "–"


def faults() -> str:
    found = result("faults")
    rows: list[list[object]] = []
    for kind, row in found["kinds"].items():
        first, _, of = kind.partition(" ")
        what = of.removeprefix("disk ") or "index"
        rows.append([_KINDS[first], what, row["rounds"], row["kills"] or "–", row["equal"], row["left_behind"],
                     row["tracebacks"]])  # fmt: skip
    header = ["", "of", "rounds", "kills", "equal in the end", "files left behind", "tracebacks"]
    text = table(header, rows)
    if found["mended"]:
        kinds = ", ".join(f"{each['kind']} with seed {each['seed']}" for each in found["mended"])
        text += f"\nFailed at first, was fixed, and passed when run again: {kinds}."
    return dated(text, found, "python -m benchmarks.reliability.faults")


def connections() -> str:
    found = result("connections")
    held = {"idle": "say nothing", "half-sent": "send half a header", "slow": "upload a byte now and then",
            "deaf": "do not read the answers"}  # fmt: skip
    rows: list[list[object]] = [[text, found[name], found["still_connected"][name]] for name, text in held.items()]
    page, search = found["page"], found["search"]
    note = (
        f"Meanwhile the page was answered {found['n_asked']} times, the slowest in {page['longest_ms']:.0f} ms (median "
        f"{page['median_ms']:.1f}), and a search in {search['longest_ms']:.0f} ms (median {search['median_ms']:.1f})."
    )
    text = table(["connections that", "opened", f"left after {found['seconds']:.0f} s"], rows) + f"\n{note}"
    return dated(text, found, "python -m benchmarks.reliability.connections")


def offline() -> str:
    found = result("offline")
    watched, control = found["watched"], found["control"]
    rows: list[list[object]] = [
        [name, sum(each["sent"] for each in runs), sum(each["looked_up"] for each in runs),
         sum(len(each["left"]) for each in runs)]
        for name, runs in (
            (f"{len(watched) - 2} commands", [each for name, each in watched.items() if name not in _STAYING]),
            *((name, [watched[name]]) for name in _STAYING),
            ("control: `import onnxruntime` with its reports on", [control]),
        )
    ]  # fmt: skip
    note = (
        f"The server was asked {watched['serve']['n_asked']} times; it, the program that waits and the control ran for "
        f"{found['seconds']:g} seconds each. ONNX Runtime {found['versions']['onnxruntime']}."
    )
    heads = ["", "sent to other machines", "names looked up", "files outside of seesay's folders"]
    return dated(table(heads, rows) + f"\n{note}", found, "python -m benchmarks.reliability.offline")


_STAYING = ("serve", "a program that waits")


def soak() -> str:
    found = result("soak")
    rows: list[list[object]] = [
        [kind, f"{row['n']:,}", f"{row['p50_ms']:.0f}", f"{row['p95_ms']:.0f}", f"{row['p99_ms']:.0f}"]
        for kind, row in [*sorted(found["latencies"].items()), ("all", found["all_requests"])]
    ]
    held = found["memory_mb"]
    note = (
        f"{found['minutes']:.0f} minutes, {found['n_photos']:,} photos, {found['n_clients']} clients at "
        f"{found['rate']:g} requests a second, {found['n_indexed_meanwhile']:,} photos indexed meanwhile: "
        f"{found['n_requests']:,} requests, {found['n_errors']} errors{_kinds(found['errors'])}, {found['tracebacks']} "
        "tracebacks. Memory "
        f"{held['first']:.0f} MB in the beginning and {held['last']:.0f} MB in the end; from the first third on its "
        f"slope is {held['slope_per_minute']:+.3f} ± {held['standard_error']:.3f} MB a minute. The machine was shared "
        f"(mean load {found['mean_load_of_machine']:g} on {found['cores']} cores), so latencies are upper bounds."
    )
    text = table(["request", "n", "p50 (ms)", "p95", "p99"], rows) + f"\n{note}\n\n{_what_grows()}"
    return dated(text, found, "python -m benchmarks.reliability.soak")


def _kinds(errors: list[str]) -> str:
    """What errors there were, each kind once."""
    return f" ({'; '.join(sorted(set(errors)))})" if errors else ""


def _what_grows() -> str:
    """Whether memory grows with requests, or with photos that come in: of runs that had only one of the two."""
    still, arrivals = result("soak_still"), result("soak_arrivals")
    told = [
        f"{what}, {run['date'][:10]}: {run['at_rest_mb']['slope_per_minute']:+.2f} ± "
        f"{run['at_rest_mb']['standard_error']:.2f} MB a minute"
        for what, run in (
            (f"{still['n_requests']:,} requests alone in {still['minutes']:.0f} minutes", still),
            (f"{arrivals['n_indexed_meanwhile']:,} new photos alone in {arrivals['minutes']:.0f} minutes", arrivals),
        )
    ]
    return (
        "Memory at rest, the least in each fifteenth of the time, in runs with one of the two "
        f"(`--arrivals 0`, `--clients 0`): {'; '.join(told)}."
    )


TABLES = (hostile_lines, offline, fuzzed, faults, connections, soak)
