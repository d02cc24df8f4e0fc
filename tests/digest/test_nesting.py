"""The bound on nesting: where it cuts, and that counting bytes instead of characters overlooks no tag."""

from __future__ import annotations

import pytest

from gossamer.adapters.digest import charset
from gossamer.adapters.digest.nesting import bounded
from gossamer.model.limits import NESTING_MAX

ENCODINGS = (
    "utf-8 ibm866 iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-8-i "
    "iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16 koi8-r koi8-u macintosh windows-874 windows-1250 "
    "windows-1251 windows-1252 windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258 "
    "x-mac-cyrillic gbk gb18030 big5 euc-jp iso-2022-jp shift_jis euc-kr replacement utf-16be utf-16le x-user-defined "
    "utf-32be utf-32le"
).split()


@pytest.mark.parametrize("name", ENCODINGS)
def test_no_other_byte_makes_a_tag(name: str) -> None:
    leads = [b"", b"\x1b$B", b"\x1b(J", b"\x8f", b"\x81\x30"] if name in {"iso-2022-jp", "euc-jp", "gb18030"} else [b""]
    for lead in leads:
        for first in range(256):
            for second in range(0 if first >= 0x80 or lead or name.startswith("utf-") else 0xFF, 256):
                body = lead + bytes((first, second))
                assert "<" not in charset.decode(body, name) or b"<" in body


@pytest.mark.parametrize("name", ["utf-8", "utf-16le", "gb18030", "windows-1252"])
@pytest.mark.parametrize("sign", ["x", "é"])
def test_it_cuts_at_the_first_element_too_deep(name: str, sign: str) -> None:
    fits = f"{sign}<p><br>" * NESTING_MAX + "<div>" * NESTING_MAX
    for markup, cut in ((fits, False), (fits + "</div><b>", False), (fits + "<b>deep</b>", True)):
        assert bounded(markup, markup.encode(name)) == (fits if cut else markup, cut)


def test_closed_elements_dont_nest() -> None:
    markup = "<div><span>a</span></div>" * (2 * NESTING_MAX)
    assert bounded(markup, markup.encode()) == (markup, False)
