"""What counts as asked of another machine."""

import pytest

from benchmarks.reliability.offline import asked_of

NAME_SERVER = '{sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.53")}'
OTHER = '{sa_family=AF_INET6, sin6_port=htons(443), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr)}'
ITSELF = '{sa_family=AF_INET, sin_port=htons(8765), sin_addr=inet_addr("127.0.0.1")}'
CACHE = '{sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}'


@pytest.mark.parametrize(
    ("call", "sent", "looked_up"),
    [
        (f"7 connect(8, {NAME_SERVER}, 16) = 0", 1, 1),
        (f"7 connect(8, {OTHER}, 28 <unfinished ...>", 1, 0),
        (f'7 sendto(8, "x", 1, 0, {NAME_SERVER}, 16) = 1', 1, 1),
        (f"7 connect(8, {CACHE}, 110) = -1 ENOENT (No such file or directory)", 0, 1),
        (f"7 connect(8, {ITSELF}, 16) = 0", 0, 0),
        (f"7 bind(8, {ITSELF}, 16) = 0", 0, 0),
        ("7 socket(AF_INET6, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_IP) = 3", 0, 0),
    ],
)
def test_what_leaves_the_machine_is_counted(call: str, sent: int, looked_up: int) -> None:
    assert asked_of(call) == {"sent": sent, "looked_up": looked_up}
    assert asked_of(f"{call}\n{call}") == {"sent": 2 * sent, "looked_up": 2 * looked_up}
