"""Which legacy encoding bytes are in, judged by how likely the characters are that they would stand for."""

from __future__ import annotations

import re

from aicli.late import regex

_COMMON = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现"
    "当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重"
    "并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入"
    "几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形社便空决治展马科司五基"
    "文件测试字符行列表示默认值类型错误返回函数变量配置注释输入输出更新删除添加您好世界编码简单"
    "這個們來為國說時會對於後過發裡種經當沒動還進樣開因從實軍無與長機間問題戰應頭體見產話回內表給門任聲員論處義認條氣爾別變總電數報結務計資統區"
    "隊決馬檔測試類錯誤數組編碼簡單輸入設註釋顯識學東車書業萬號語點線將"
)
_SYLLABLES = frozenset(
    "이다는을에의가고하지를사기도리은인자어로나시스대한서아안녕세계요그해수있것들정일전제보라만부게면상과여장내동원으조된니습입"
)
_WIDE_MARKS = frozenset("，。、；：？！“”‘’（）《》【】「」『』—…·　～")


def legacy(body: bytes) -> str:
    """The codec's name, or "" when no legacy encoding makes sense of the bytes (not valid UTF-8, no NUL)."""
    best, score = "", 0.0
    for name, judge in (("gb18030", _chinese), ("big5hkscs", _chinese), ("cp932", _japanese), ("cp949", _korean)):
        try:
            text = body.decode(name)
        except UnicodeDecodeError:
            continue
        wide = [c for c in text if c > "\x7f"]
        now = sum(map(judge, wide)) / len(wide) if wide else 0.0
        now += 0.3 * _first_plane(name, body)
        if now > score:
            best, score = name, now
    western = _western(body)
    if score < 0.45 and western:
        return western
    return best if score >= 0.3 else western


def _chinese(char: str) -> float:
    if char in _COMMON:
        return 1.6
    if char in _WIDE_MARKS:
        return 0.8
    if "\u4e00" <= char <= "\u9fff" or "\uff01" <= char <= "\uff5e":
        return 0.4
    return -1.0


def _japanese(char: str) -> float:
    if "\u3041" <= char <= "\u3093" or "\u30a1" <= char <= "\u30f6":
        return 1.3
    if char in _WIDE_MARKS or char == "ー":
        return 0.8
    if "\uff61" <= char <= "\uff9f":
        return -0.6
    return 0.4 if "\u4e00" <= char <= "\u9fff" else -1.0


def _korean(char: str) -> float:
    if "\uac00" <= char <= "\ud7a3":
        return 1.4 if char in _SYLLABLES else 0.2
    return 0.5 if char in _WIDE_MARKS else -1.0


_FIRST = {
    "gb18030": re.compile(rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]"),
    "big5hkscs": re.compile(rb"[\xa1-\xc6][\x40-\x7e\xa1-\xfe]"),
    "cp932": re.compile(rb"[\x81-\x83\x88-\x97][\x40-\x7e\x80-\xfc]"),
    "cp949": re.compile(rb"[\xa1-\xa3\xb0-\xc8][\xa1-\xfe]"),
}
_PAIR = regex(rb"[\x80-\xff][\x00-\xff]")


def _first_plane(name: str, body: bytes) -> float:
    """Share of the two-byte characters that lie in the encoding's everyday part, minus the share that does not."""
    pairs = _PAIR.findall(body)
    if not pairs:
        return 0.0
    inside = sum(1 for p in pairs if _FIRST[name].fullmatch(p))
    return 2 * inside / len(pairs) - 1


_LONE = regex(rb"(?<![\x80-\xff])[\x80-\xff]{1,2}(?![\x80-\xff])")
_HIGH = regex(rb"[\x80-\xff]")


def _western(body: bytes) -> str:
    """Latin-1, or its Windows form with curly quotes: high bytes stand alone or in twos among ASCII."""
    high = len(_HIGH.findall(body))
    lone = sum(len(m) for m in _LONE.findall(body))
    if not high or lone * 10 < high * 7:
        return ""
    if not re.search(rb"[\x80-\x9f]", body):
        return "latin-1"
    try:
        body.decode("cp1252")
    except UnicodeDecodeError:
        return ""
    return "cp1252"
