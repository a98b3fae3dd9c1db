"""Texts in encodings of many languages are read as they were written, or refused with a remedy."""

import pytest

from ragkit.errors import IngestError
from ragkit_ingest.parse import parse_bytes

TEXTS = {
    "Korean": (
        "설비가 도착하면 창고 관리자는 품질 검사 직원과 함께 상자를 열고 모델, 수량을 확인한다.\n",
        ("euc-kr", "cp949", "iso2022_kr"),
    ),
    "Japanese": (
        "設備が到着したら、倉庫の担当者は検査員とともに箱を開け、型式と数量を確認する。\n",
        ("shift_jis", "cp932", "euc-jp", "iso2022_jp"),
    ),
    "Russian": (
        "После прибытия оборудования кладовщик вскрывает ящики и проверяет модель и количество.\n",
        ("cp1251", "koi8-r", "cp866", "iso8859-5"),
    ),
    "Ukrainian": (
        "Після прибуття обладнання комірник відкриває ящики та перевіряє модель і кількість.\n",
        ("cp1251", "koi8-u"),
    ),
    "Greek": (
        "Μετά την άφιξη του εξοπλισμού ο αποθηκάριος ανοίγει τα κιβώτια και ελέγχει το μοντέλο.\n",
        ("cp1253",),
    ),
    "Hebrew": (
        "לאחר הגעת הציוד פותח המחסנאי יחד עם הבודק את הארגזים ובודק את הדגם.\n",
        ("cp1255",),
    ),
    "Arabic": (
        "بعد وصول المعدات يفتح أمين المخزن الصناديق ويتحقق من الطراز والكمية.\n",
        ("cp1256",),
    ),
    "Thai": ("เมื่ออุปกรณ์มาถึง เจ้าหน้าที่คลังสินค้าจะเปิดกล่องและตรวจสอบรุ่น\n", ("cp874",)),
    "Polish": (
        "Po dostarczeniu urządzenia magazynier otwiera skrzynie, sprawdza liczbę i robi zdjęcia.\n",
        ("cp1250", "iso8859-2"),
    ),
    "Czech": (
        "Po dodání zařízení skladník otevře bedny, zkontroluje počet a ihned pořídí fotografie."
        " Je-li obal poškozen, uvědomí dodavatele; lhůta činí čtyřicet osm hodin.\n",
        ("cp1250", "iso8859-2"),
    ),
    "Turkish": (
        "Cihaz ulaştığında depo görevlisi kutuyu açar ve modeli, miktarı, belgeleri doğrular.\n",
        ("cp1254",),
    ),
    "French": (
        "Après l'arrivée du matériel, le magasinier vérifie le modèle, la quantité et le numéro.\n",
        ("cp1252", "mac_roman", "cp850"),
    ),
    "Icelandic": (
        "Það er ekki í góðu lagi, sagði Þóra, en við gerum við það á morgun.\n",
        ("cp1252",),
    ),
}
CASES = [(text, encoding) for text, encodings in TEXTS.values() for encoding in encodings]


@pytest.mark.parametrize(("text", "encoding"), CASES, ids=lambda value: value[:10])
@pytest.mark.parametrize("times", [1, 40])
def test_a_text_is_read_as_it_was_written(text: str, encoding: str, times: int) -> None:
    assert parse_bytes((text * times).encode(encoding), ".txt").text == text * times


@pytest.mark.parametrize(
    "data",
    [
        "虹彩吸蜜鹦鹉母鸟".encode("gb18030"),  # rare birds
        bytes(range(0xA1, 0xFF)) * 3,
        "Le prix était de 5 ‰, l’œuvre à part.".encode("cp437", "replace").replace(b"t", b"\xb9"),
    ],
)
def test_what_is_not_sure_is_refused_with_a_remedy(data: bytes) -> None:
    with pytest.raises(IngestError) as caught:
        parse_bytes(data, ".txt")
    assert caught.value.reason == (
        "a text in an encoding that cannot be told for certain: save it as UTF-8"
    )
