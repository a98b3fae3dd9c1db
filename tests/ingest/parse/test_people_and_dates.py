"""Calendars and contacts: a record for each, values as people read them, damaged files."""

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.parse import parse_bytes

CALENDAR = (
    "BEGIN:VCALENDAR\r\nX-WR-CALNAME:Lab\r\nBEGIN:VTIMEZONE\r\nTZID:secret\r\nEND:VTIMEZONE\r\n"
    "BEGIN:VEVENT\r\nSUMMARY:Lens cle\r\n aning\\, part 1\r\n"
    "DTSTART;TZID=Europe/Paris:20260203T100000\r\nDTEND:20260203T110000Z\r\nLOCATION:Room 4\r\n"
    'ORGANIZER;CN="Lee, Ann":mailto:ann@example.org\r\nATTENDEE:mailto:bo@example.org\r\n'
    "ATTENDEE;CN=Cy:MAILTO:cy@example.org\r\nDESCRIPTION:Wipe.\\nThen dry 会议.\r\n"
    "BEGIN:VALARM\r\nDESCRIPTION:secret\r\nEND:VALARM\r\nEND:VEVENT\r\n"
    "BEGIN:VTODO\r\nSUMMARY:Order cloth\r\nDUE;VALUE=DATE:20260210\r\nEND:VTODO\r\n"
    "END:VCALENDAR\r\n"
)


def test_events_of_a_calendar() -> None:
    parsed = parse_bytes(CALENDAR.encode(), ".ics")
    assert parsed.text == (
        "## Lens cleaning, part 1\n\nstart: 2026-02-03 10:00 Europe/Paris\n"
        "end: 2026-02-03 11:00 UTC\nlocation: Room 4\norganizer: Lee, Ann <ann@example.org>\n"
        "attendees: bo@example.org, Cy <cy@example.org>\n\nWipe.\nThen dry 会议.\n\n"
        "## Order cloth\n\ndue: 2026-02-10\n"
    )
    assert parsed.title == "Lab"


def test_a_fold_may_part_the_bytes_of_a_character() -> None:
    first, second = CALENDAR.encode().split("会".encode())
    folded = first + "会".encode()[:1] + b"\r\n " + "会".encode()[1:] + second
    assert "Then dry 会议." in parse_bytes(folded, ".ics").text


def test_contacts() -> None:
    cards = (
        "BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:=E6=9D=8E;=\n"
        "=E5=AE=89\nTEL;CELL;VOICE:+1 555 1\nORG:Acme\\; Co;Lab\nPHOTO;ENCODING=b:AAAA\n BBBB\n"
        "END:VCARD\nBEGIN:VCARD\nVERSION:4.0\nFN:Ann Lee\nitem1.EMAIL;TYPE=INTERNET,WORK:ann@e.org"
        "\nADR;TYPE=home:;;1 Main St;Town;;123;Land\nNOTE:Likes\\nlenses\nEND:VCARD\n"
    )
    parsed = parse_bytes(cards.encode(), ".vcf")
    assert parsed.text == (
        "## 李安\n\nphone (cell): +1 555 1\norganization: Acme; Co, Lab\n\n"
        "## Ann Lee\n\ne-mail (work): ann@e.org\naddress (home): 1 Main St, Town, 123, Land\n"
        "note: Likes lenses\n"
    )
    assert parsed.notes == {"pictures": 1}


@pytest.mark.parametrize(
    ("data", "suffix", "reason"),
    [
        (b"hello", ".ics", "not a calendar, as its name says: it has no BEGIN:VCALENDAR"),
        (b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:x", ".ics", "a calendar without events"),
        (b"hello", ".vcf", "not a file of contacts: it has no BEGIN:VCARD"),
        (b"BEGIN:VCARD\nEND:VCARD", ".vcf", "contacts without a name"),
        (bytes(range(256)) * 8, ".vcf", "binary, not text"),
    ],
)
def test_files_that_are_none(data: bytes, suffix: str, reason: str) -> None:
    with pytest.raises(IngestError) as caught:
        parse_bytes(data, suffix)
    assert caught.value.reason == reason
