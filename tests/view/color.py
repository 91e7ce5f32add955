"""Colour arithmetic for the token tests, written from the publications so that nothing we ship checks itself.

Contrast: WCAG 2.2. Colour difference: CIEDE2000 (Sharma, Wu, Dalal 2005). Colour blindness: Machado, Oliveira, Fernandes 2009, severity 1.
"""

import numpy as np

VISION = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
_TO_XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_WHITE = np.array([0.95047, 1.0, 1.08883])


def linear(hex_: str) -> np.ndarray:
    """#rrggbb -> linear RGB in 0..1."""
    c = np.array([int(hex_[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    """WCAG contrast ratio of two colours, 1 to 21."""
    low, high = sorted(float(linear(c) @ (0.2126, 0.7152, 0.0722)) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    """Linear RGB -> CIELAB, D65."""
    x = _TO_XYZ @ np.clip(rgb, 0, 1) / _WHITE
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def seen_difference(a: str, b: str, vision: str) -> float:
    """CIEDE2000 of two colours as somebody with that vision sees them."""
    first, second = (lab(VISION[vision] @ linear(c)) for c in (a, b))
    return ciede2000(first, second)


def ciede2000(first, second) -> float:
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean_c7 = ((np.hypot(a1, b1) + np.hypot(a2, b2)) / 2) ** 7
    g = 0.5 * (1 - np.sqrt(mean_c7 / (mean_c7 + 25**7)))
    a1, a2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    gray = c1 * c2 == 0
    dh = 0 if gray else (h2 - h1 + 180) % 360 - 180
    big_dh = 2 * np.sqrt(c1 * c2) * np.sin(np.radians(dh) / 2)
    mean_l, mean_c = (l1 + l2) / 2, (c1 + c2) / 2
    mean_h = h1 + h2 if gray else (h1 + dh / 2) % 360
    t = (
        1
        - 0.17 * np.cos(np.radians(mean_h - 30))
        + 0.24 * np.cos(np.radians(2 * mean_h))
        + 0.32 * np.cos(np.radians(3 * mean_h + 6))
        - 0.20 * np.cos(np.radians(4 * mean_h - 63))
    )
    s_l = 1 + 0.015 * (mean_l - 50) ** 2 / np.sqrt(20 + (mean_l - 50) ** 2)
    s_c, s_h = 1 + 0.045 * mean_c, 1 + 0.015 * mean_c * t
    r = -2 * np.sqrt(mean_c**7 / (mean_c**7 + 25**7)) * np.sin(np.radians(60 * np.exp(-(((mean_h - 275) / 25) ** 2))))
    x, y, z = (l2 - l1) / s_l, (c2 - c1) / s_c, big_dh / s_h
    return float(np.sqrt(x * x + y * y + z * z + r * y * z))
