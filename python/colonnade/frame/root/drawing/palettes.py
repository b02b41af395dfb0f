"""ROOT's palettes: nine colours of each, at equal distances."""

from __future__ import annotations

from typing import Any

__all__ = ["palette"]

_COLORS = (
    "00001c 09002b 0d003c 11024e 182562 204a81 1b7099 199fb7 1ddbdc",  # kDeepSea
    "000000 212121 414141 606060 808080 a0a0a0 bfbfbf dfdfdf fefefe",  # kGreyScale
    "000000 2f0001 650101 9c2d03 d46509 e6a808 edec0b eaee5c f2f3e2",  # kDarkBodyRadiator
    "000061 171164 2d2a63 444363 5d5d5d 7c7d44 9fa12d bfc11b ecf049",  # kBlueYellow
    "000063 053290 107ec6 23c0c9 66ce5a c4e216 d0650d c71308 710102",  # kRainBow
    "f2f3e6 eaee5c edec0b e6a808 d46509 9c2d03 650101 2f0001 010000",  # kInvertedDarkBodyRadiator
    "352a87 0f5ddd 1382d5 06a4ca 2eb7a4 87bf77 cebb5a fcc833 f9f90f",  # kBird
    "000000 181f44 045d4e 368122 b07539 ec78ac cbaef9 c2eaf5 fdfeff",  # kCubehelix
    "0d5f04 174203 1a2502 3f1506 4c000b 680c16 882230 a03360 cd4ecd",  # kGreenRedViolet
    "000000 3e008f 5a00dd 7a0090 8f0e04 a02505 b84706 cb8209 e6e80d",  # kBlueRedYellow
    "0e6902 073715 021924 00013c 052a5c 0b4a71 36819f 81aab8 e2e3e4",  # kOcean
    "000000 00006a 0200e4 4600e7 9400b1 e7457c eb4389 edd318 f4f3ed",  # kColorPrintableOnGrey
    "324261 38515b 3f5b4b 446041 5d6f4d 798067 a49a8e bfbca6 efefd7",  # kAlpine
    "919ebe a6b2c7 a7b3c9 9cb5c0 83a3b0 729aa9 6590a0 7098a6 839fbd",  # kAquamarine
    "5d7e67 5b7c5e 638057 6c8155 828350 7d7955 84776a 9a9878 adac91",  # kArmy
    "181d1d 293535 465f61 5a7f84 6896a2 72a2b5 789fb8 8497ba 686785",  # kAtlantic
    "2e2e2e 272450 3e294a 5c4546 716e51 798769 8483a3 955dd2 be24e1",  # kAurora
    "000000 042909 0d570e 1e7912 348c15 65ac17 8dbb1b bcd423 ecef63",  # kAvocado
    "c66731 ce8636 ce9737 d3ac42 c6b25b b5ae82 a2a3b6 abafdf f2f2f3",  # kBeach
    "f30006 f33009 f06526 f0955b f1c2a9 efdceb bcb8f6 98a7f0 8294e9",  # kBlackBody
    "16004d 132160 13466e 196c74 23876e 359f64 57b65a 89c64e d0d646",  # kBlueGreenYellow
    "442510 765439 a6886a b6b293 bdccc4 b4e1e2 92dde8 70cbe0 4895b3",  # kBrownCyan
    "3d95d6 648bca 8960a7 b55387 d5846e e1b264 c7be6f 8a8971 1c1a19",  # kCMYK
    "4c2240 792345 9d2b4f b74569 c5668e b489b1 a3a3cc 9abbd9 8cc5c7",  # kCandy
    "252525 681d20 9e1921 bc252d c44342 d65b62 df8388 ebb7b9 faf9f9",  # kCherry
    "4f3f33 654f3b 785d42 89673d 99733e ac8746 bfa66d cdc39e f9f8f7",  # kCoffee
    "2b3f79 2c4064 33563a 42652c 7d8a2f aca337 b27b39 9c352c 9d272b",  # kDarkRainBow
    "00005f 2a3a5b 3f515b 4f5d52 5a553c 57462b 63472c 8b7b6e e1e1e0",  # kDarkTerrain
    "314e4e 3b4837 49422e 583928 723b27 8d4b27 af6928 cc8d29 ddac2f",  # kFall
    "f35e07 dd6d09 c8840c b98713 a57d2d 9e6059 a64575 ba3491 da3d77",  # kFruitPunch
    "131313 2d1c2b 4b2845 693760 895281 a66e9d c19dbb ceb4cb dcdbdb",  # kFuchsia
    "212637 2d3344 474d62 63697c 8c8c8c a5a5a6 c6bea3 d3bd82 d8a836",  # kGreyYellow
    "000000 222d2c 4b5d44 7c7c4c 888649 987e40 9f7948 ab8f71 dddddc",  # kGreenBrownTerrain
    "053006 138810 2fd02c 7ce679 c1c1c1 df71e2 ce1fd1 820184 330734",  # kGreenPink
    "b44829 6a7f79 699b9f 87b8bc a4c6c2 bccfb5 bdcd92 a6be65 91b33f",  # kIsland
    "390074 49228a 5f45ae 756dc9 888cc8 9aabc9 adbfcb bfc4be d6d1bb",  # kLake
    "1f28ea 4977d6 7cace4 a0d3de d2e7d2 dedca0 d6bf6b c7863d b74323",  # kLightTemperature
    "7bb8d0 6c8a81 6e826d 7e8563 9a9a6e acaf7a bbbc95 c4c4aa d9d9d9",  # kLightTerrain
    "69fc92 6bc585 7bc290 8fbb9b 9faea3 aca2a7 b099a6 b589a2 ce7dae",  # kMint
    "abec3b 8d8e30 91632e 983f2c 9a352a 9f3736 a32c51 9e1f6f b007b1",  # kNeon
    "b45dec bf7ed8 d1949f dfac85 ccb572 e4e084 cee9a1 9ac7da 5d9fda",  # kPastel
    "e1cdba b6b1a5 a1a59a 878787 737c7e 6f7582 777595 9084b1 d1abe0",  # kPearl
    "272727 2c2c32 3b3b3b 3f4a46 505b55 747273 988a96 b0a4af deddde",  # kPigeon
    "000000 270a0b 3d0f17 4c1728 54233f 593956 655261 7f7a5e cac555",  # kPlum
    "5e1b2a 712f35 8e5952 a5876a a7a68b 8ca19e 5d889b 32628a 1c3b75",  # kRedBlue
    "1e3f12 323c1c 504929 755a38 875e3e 975e3f 924532 8a2f24 931115",  # kRose
    "000027 1f0e1a 401c15 652a12 8f3a0f 983d0e a8430e ba4a0d e55a0d",  # kRust
    "953e28 8d4726 a46c2d b38831 b69031 b58a31 857626 585820 3e4a22",  # kSandyTerrain
    "63270f 712910 953a12 a54f21 b36833 b67f4f b79366 b7a180 cfc5af",  # kSienna
    "630005 750006 9b0907 ae2009 c83a09 c4530e c97611 c98713 e5ac18",  # kSolar
    "523e27 6b2d19 7e4620 8d6b3c 9b8749 a39844 8f9532 6c8547 4377b8",  # kSouthWest
    "121b27 1d2f38 2d4851 48696c 749282 9eb185 b7bd7c cfbe65 ddb74d",  # kStarryNight
    "000000 320e44 791f4a ad2f2b d44f10 e07f16 e4a636 e4cc7e f4f4f1",  # kSunset
    "2230ea 485dd4 8394d8 bbc2e0 e1e2ce e2e56e d8c537 c27128 b30f1d",  # kTemperatureMap
    "1e00bf 3943ca 688bd4 93b6d0 aebbab cbaf8c bc7b62 98373a 6a0a1f",  # kThermometer
    "701026 621123 71182e 7d253b 8a384e 9f5167 b16d81 bc8797 e0bbc7",  # kValentine
    "120033 4601ca 062fac 17a71a 1dd30a c97509 c80408 650003 1f0000",  # kVisibleSpectrum
    "131313 2b3820 415a30 587d46 769a64 93a980 aea190 bb8282 cc484d",  # kWaterMelon
    "21ffff 1faecd 2b90ca 446acb 5658d0 6f37cd 8c10cb ab00ce e100e6",  # kCool
    "000000 1a100c 331f15 4f2e1d 6e3f27 915231 b4643d c87b4a fcb166",  # kCopper
    "000000 0e265e 1e5563 2c7552 488d38 789942 9b974c c79e81 f6f4f3",  # kGistEarth
    "1a091e 331961 2b3870 215772 1c7670 239665 49b349 8ec724 f3dd01",  # kViridis
    "00204d 07376e 424e6b 61646f 7c7b78 9c9477 bcae6f dfca5f fee947",  # kCividis
)
"""From number 51 on."""
_PRETTY = "9200ff 0300ff 008bff 00ffe4 00ff55 52ff00 e0ff00 ff8f00 ff0000"
"""Of number 1."""
_BIRD = 57


def palette(number: int) -> Any:
    """Return a palette as a colour map of matplotlib; that of `kBird` for numbers that are none."""
    from matplotlib.colors import LinearSegmentedColormap

    number = number if number == 1 or 0 <= number - 51 < len(_COLORS) else _BIRD
    codes = _PRETTY if number == 1 else _COLORS[number - 51]
    return LinearSegmentedColormap.from_list(f"root{number}", [f"#{code}" for code in codes.split()])
