"""Which web addresses are taken, and which IP addresses belong to the open internet."""

import ipaddress
import socket

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.sources.address import is_public, read_url

NOT_PUBLIC = """0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1
127.8.8.8 168.63.129.16 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.88.99.1
192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1 239.255.255.255 240.0.0.1
255.255.255.255 :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:1.1.1.1 ::ffff:0:1.1.1.1
64:ff9b::7f00:1 64:ff9b::101:101 64:ff9b:1::1 100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2
2001:db8::1 2002:7f00:1::1 2002:a00:1:: 3fff::1 5f00::1 fc00::1 fd12:3456::1 fe80::1 fe80::1%lo
fec0::1 ff02::1 2606:4700::5efe:a00:1 2606:4700::200:5efe:a00:1 localhost 1.1.1 0x7f.1
1.1.1.1:80""".split()
PUBLIC = """1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1
192.167.1.1 198.17.0.1 198.20.0.1 223.255.255.254 2606:4700::1111 2a00:1450:4001::200e
2400:3200::1""".split()

REFUSED = {
    "": "not a plain address",
    "https://": "not a plain address",
    "ftp://example.com/": "not a plain address",
    "file:///etc/passwd": "not a plain address",
    "javascript:alert(1)": "not a plain address",
    "https:/example.com/": "not a plain address",
    "https:example.com": "not a plain address",
    "//example.com/": "not a plain address",
    "https://user@example.com/": "not a plain address",
    "https://user:pass@example.com/": "not a plain address",
    "http://127.0.0.1:6666\\@1.1.1.1": "not a plain address",
    "http://1.1.1.1\\@127.0.0.1/": "not a plain address",
    "http://1.1.1.1&@127.0.0.1/": "not a plain address",
    "http://127.0.0.1\t@1.1.1.1/": "not a plain address",
    "http://exam ple.com/": "not a plain address",
    "http://example.com/a b": "not a plain address",
    "http://example.com/\r\nHost: x": "not a plain address",
    "http://example.com/\0": "not a plain address",
    " http://example.com/": "not a plain address",
    "http://%31%32%37.0.0.1/": "not a plain address",
    "http://[::1%25lo]/": "not a plain address",
    "http://[::1": "not a plain address",
    "http://::1/": "not a plain address",
    "http://example.com:x/": "not a plain address",
    "http://example.com:/": "not a plain address",
    "http://example.com:22/": "port 22 is not one of the web's: only 80 and 443 are",
    "http://example.com:99999/": "port 99999",
    "http://2130706433/": "2130706433 is no address: write it as",
    "http://127.1/": "127.1 is no address",
    "http://0x7f.0.0.1/": "0x7f.0.0.1 is no address",
    "http://0x7f000001/": "0x7f000001 is no address",
    "http://0177.0.0.1/": "0177.0.0.1 is no address",
    "http://127.0.0.1./": "127.0.0.1. is no address",
    "http://127.0.0.0x1/": "127.0.0.0x1 is no address",
    "http://1.1.1.256/": "1.1.1.256 is no address",
    "http://①②⑦.⓪.⓪.①/": "'①②⑦.⓪.⓪.①' is no name of a host",
    "http://１２７.0.0.1/": "'１２７.0.0.1' is no name of a host",
    "http://127。0。0。0x1/": "127。0。0。0x1 is no address",
    "http://-.example.com/": "'-.example.com' is no name of a host",
    "http://a..b/": "'a..b' is no name of a host",
    "http://.example.com/": "'.example.com' is no name of a host",
    "http://" + "a." * 130 + "com/": "'a.a.",
    "http://example.com/" + "a" * 5000: "not a plain address",
    "http://[:1]/": "[:1] is no address",
}


@pytest.mark.parametrize("ip", NOT_PUBLIC)
def test_what_is_not_the_open_internet(ip: str) -> None:
    assert not is_public(ip)


@pytest.mark.parametrize("ip", PUBLIC)
def test_what_is(ip: str) -> None:
    assert is_public(ip)


def test_no_address_is_public_that_python_calls_private() -> None:
    # Python's own list differs between its versions; ours is the stricter one.
    for first in range(0, 256):
        for second in (0, 1, 64, 88, 100, 127, 128, 168, 254, 255):
            ip = ipaddress.IPv4Address(f"{first}.{second}.100.1")
            assert not (is_public(str(ip)) and not ip.is_global), ip


def test_a_machines_own_public_address_is_not_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    class Probe:
        def __init__(self, family: int, kind: int) -> None:
            assert kind == socket.SOCK_DGRAM  # connecting it sends nothing

        def __enter__(self) -> "Probe":
            return self

        def __exit__(self, *error: object) -> None:
            return

        def connect(self, address: tuple[str, int]) -> None:
            return

        def getsockname(self) -> tuple[str, int]:
            return "8.8.4.4", 1

    monkeypatch.setattr(socket, "socket", Probe)
    assert [is_public("8.8.4.4"), is_public("8.8.8.8")] == [False, True]


@pytest.mark.parametrize("url", REFUSED)
def test_odd_urls_are_refused(url: str) -> None:
    with pytest.raises(IngestError) as error:
        read_url(url)
    assert error.value.stage == "read"
    assert error.value.reason.startswith(REFUSED[url])


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("HTTPS://Example.COM", "https://example.com/"),
        ("http://example.com:80/a?b=c#d", "http://example.com/a?b=c"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("https://example.com?a=1", "https://example.com/?a=1"),
        ("https://example.com/茶?q=茶", "https://example.com/%E8%8C%B6?q=%E8%8C%B6"),
        ("https://例子.测试/", "https://xn--fsqu00a.xn--0zwm56d/"),
        ("https://bücher.example./", "https://xn--bcher-kva.example./"),
        ("http://1.1.1.1#@127.0.0.1/", "http://1.1.1.1/"),
        ("http://93.184.216.34/", "http://93.184.216.34/"),
        ("http://[2606:4700:0::1111]/", "http://[2606:4700::1111]/"),
        ("http://127。0。0。1/", "http://127.0.0.1/"),  # plain enough: the address decides
        ("http://my_host.example/", "http://my_host.example/"),
        ("https://example.com/a@b:c", "https://example.com/a@b:c"),
    ],
)
def test_plain_urls_are_read_in_one_way(url: str, read: str) -> None:
    assert str(read_url(url)) == read
