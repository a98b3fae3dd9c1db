"""Sentences turned into questions for what they count: both languages, and what is left alone."""

import pytest

from ragkit_eval.testset.amounts import amounts


def asked(sentence: str, text: str = "") -> list[tuple[str, str]]:
    return [(one.question, one.answer) for one in amounts(sentence, lambda term: 1.0, text)]


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        ("The course lasts four hours and takes place upstairs.",
         "How long does the course last?", "four hours"),
        ("The MRX-20 X-ray machine weighs 1,150 kg and was installed in March 2021.",
         "How much does the MRX-20 X-ray machine weigh?", "1,150 kg"),
        ("The bicycle shed holds 24 bicycles.",
         "How many bicycles does the bicycle shed hold?", "24 bicycles"),
        ("Every complaint is acknowledged within two working days.",
         "Within what time is every complaint acknowledged?", "two working days"),
        ("Voicemail is deleted after 21 days.",
         "After how long is Voicemail deleted?", "21 days"),
        ("Reviews are kept for seven years.", "For how long are reviews kept?", "seven years"),
        ("Life jackets are inspected every twelve months, and the date stands on the collar.",
         "How often are life jackets inspected?", "every twelve months"),
        ("Vaccines are ordered every second Thursday.",
         "How often are vaccines ordered?", "every second Thursday"),
        ("Appointments can be booked up to six weeks ahead.",
         "How far ahead can appointments be booked?", "six weeks"),
        ("The works council meets on the first Thursday of the month.",
         "When does the works council meet?", "first Thursday of the month"),
        ("Charging costs 32 pence per kilowatt hour and is limited.",
         "How much does charging cost per kilowatt hour?", "32 pence"),
        ("The daily allowance for meals is €55 in Ireland.",
         "How much is the daily allowance for meals in Ireland?", "€55"),
        ("Calls with Suzhou are held before 11:00 in Galway.",
         "Before when are calls with Suzhou held in Galway?", "11:00"),
        ("Full-time employees have 26 days of annual leave.",
         "How many days of annual leave do full-time employees have?", "26 days"),
        ("Reception in Galway is staffed from 07:30 to 18:30, Monday to Friday.",
         "From when until when is reception in Galway staffed?", "07:30 to 18:30"),
    ],
)  # fmt: skip
def test_an_english_sentence_is_turned_round_its_verb(
    sentence: str, question: str, answer: str
) -> None:
    text = "reviews life full-time reception"
    assert (question, answer) in asked(sentence, text)


@pytest.mark.parametrize(
    ("sentence", "question", "answer"),
    [
        ("标定水槽长36米，水位由步进电机控制。", "标定水槽长多少米？", "36米"),
        ("持普通读者证最多可以借阅10册图书，借期为30天。",
         "持普通读者证最多可以借阅10册图书，借期为多少天？", "30天"),
        ("实验室每周四对外开放，提供校准服务。", "实验室每周几对外开放？", "周四"),
        ("早餐供应时间为7:00至8:20，午餐另行通知。", "早餐供应时间为几点到几点？", "7:00至8:20"),
        ("机房温度应保持在22℃至24℃之间。", "机房温度应保持在多少℃到多少℃之间？", "22℃至24℃"),
        ("迟到20分钟以上的，座位自动释放。", "迟到多少分钟以上的，座位自动释放？", "20分钟"),
        ("发生缺陷时应在三天内通知全部客户。", "发生缺陷时应在几天内通知全部客户？", "三天"),
        ("工资于每月10日发放，遇节假日提前。", "工资于每月几日发放？", "10日"),
    ],
)  # fmt: skip
def test_a_chinese_sentence_is_asked_in_the_numbers_place(
    sentence: str, question: str, answer: str
) -> None:
    assert (question, answer) in asked(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "It is serviced every six months by the manufacturer.",  # what is?
        "In 2025 the entitlement was 24 days, and it has grown.",
        "A vaccine that was warmer than 8 °C for more than 20 minutes is marked.",
        "If you miss three appointments, a week is lost.",
        "The building has been shut for two years.",
        "A week on call is paid with €240.",
        "The device must not be used for two days.",
        "由于前两年受伤较多，他没有参赛。",  # only a reason
        "漏水检测绳沿空调四周敷设。",  # on all sides
        "兹林是由在1934年成立的公司所制造的。",  # which year is only said in passing
        "该馆于1960年代开放，另有3个分馆。",
        "其中12个品种属于珍稀品种。",
        "素食窗口每周二和周四开放。",
        "供应饮料5种、点心8种，共计金额不限。",
    ],
)
def test_what_would_read_badly_is_not_asked(sentence: str) -> None:
    assert asked(sentence) == []
