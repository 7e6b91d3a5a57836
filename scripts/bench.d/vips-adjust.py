# The adjustments of photod as libvips has them, one after the other in one thread. Used by scripts/bench.
#
# vips-adjust.py SIDE ROUNDS QUALITY FILE... : prints a line for each file and adjustment: the file's number, the
# adjustment's name and the least CPU time of all rounds in milliseconds, separated by tabs. The first line is the
# version of libvips. Each picture is made from its file: decode, shrink to SIDE, adjust, encode as JPEG. Where the
# libraries differ in the formula, the amount of work is similar: a curve is a table, a colour change a matrix.
import math
import sys
import time

import pyvips

side, rounds, quality, files = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
pyvips.cache_set_max(0)  # Without a cache, every picture is rendered.


def curve(function):
    levels = [min(255, max(0, round(function(i / 255) * 255))) for i in range(256)]
    table = pyvips.Image.new_from_array([levels]).cast("uchar")
    return lambda image: image.maplut(table)


def linear_light(matrix):
    return lambda image: image.colourspace("scrgb").recomb(matrix).colourspace("srgb")


def gains(red, green, blue):
    return linear_light([[red, 0, 0], [0, green, 0], [0, 0, blue]])


def saturated(share):
    weights = (0.2126, 0.7152, 0.0722)
    return linear_light([[(1 - share) * w + (share if i == j else 0) for j, w in enumerate(weights)] for i in range(3)])


def vignette(image):
    xy = pyvips.Image.xyz(image.width, image.height)
    x, y = xy[0] - image.width / 2, xy[1] - image.height / 2
    radius = (x * x + y * y) ** 0.5 / math.hypot(image.width / 2, image.height / 2)
    return (image.colourspace("scrgb") * (1 - 0.5 * radius * radius)).colourspace("srgb")


def straightened(degrees):
    def turn(image):
        radians, ratio = math.radians(abs(degrees)), image.width / image.height
        share = 1 / (math.cos(radians) + max(ratio, 1 / ratio) * math.sin(radians))
        width, height = int(image.width * share), int(image.height * share)
        turned = image.similarity(angle=degrees, interpolate=pyvips.Interpolate.new("bicubic"))
        return turned.crop((turned.width - width) // 2, (turned.height - height) // 2, width, height)
    return turn


def perspective(image):
    xy = pyvips.Image.xyz(image.width, image.height)
    x, y = xy[0] / image.width, xy[1] / image.height
    divisor = 0.1 * x + 1
    index = (((0.8 * x + 0.1) / divisor) * image.width).bandjoin(((0.8 * y + 0.1) / divisor) * image.height)
    return image.mapim(index, interpolate=pyvips.Interpolate.new("bicubic"))


def eight(image):
    for step in [curve(lambda v: v ** 0.8), gains(1.1, 1, 0.9), saturated(1.2), saturated(1.1)]:
        image = step(image)
    return image


# The names are those of photod's bench. libvips has no vibrance and no bilateral filter.
WAYS = {
    "plain": lambda image: image,
    "exposure": gains(1.41, 1.41, 1.41),
    "brightness": curve(lambda v: v ** 0.7),
    "contrast": curve(lambda v: 1 / (1 + math.exp(-6 * (v - 0.5)))),
    "highlights": curve(lambda v: v + 0.45 * v * v * (1 - v)),
    "shadows": curve(lambda v: v + 0.45 * v * (1 - v) ** 2),
    "whites": curve(lambda v: v / 0.875),
    "blacks": curve(lambda v: 0.075 + v * 0.925),
    "saturation": saturated(1.5),
    "warmth": gains(1.15, 1, 0.87),
    "tint": gains(1, 0.87, 1),
    "blackAndWhite": saturated(0.5),
    "sharpness": lambda image: image.sharpen(sigma=1),
    "rotate": lambda image: image.rot90(),
    "straighten 2": straightened(2),
    "straighten 30": straightened(30),
    "perspective": perspective,
    "vignette": vignette,
    "eight tones": eight,
}


# These read the rows in another order than a decoder gives them.
UNORDERED = {"rotate", "straighten 2", "straighten 30", "perspective", "sharpness"}


def made(path, name):
    if name == "crop":
        image = pyvips.Image.new_from_file(path, access="sequential")
        width, height = int(image.width * 0.8), int(image.height * 0.8)
        image = image.crop(image.width // 10, image.height // 10, width, height).thumbnail_image(side, size="down")
    else:
        image = pyvips.Image.thumbnail(path, side, height=side, size="down")
        image = WAYS[name](image.copy_memory() if name in UNORDERED else image)
    return image.jpegsave_buffer(Q=quality, strip=True)


print(".".join(str(pyvips.version(i)) for i in range(3)))
best = {}
for _ in range(rounds):
    for number, path in enumerate(files):
        for name in list(WAYS) + ["crop"]:
            before = time.process_time()
            made(path, name)
            spent = (time.process_time() - before) * 1000
            best[number, name] = min(best.get((number, name), spent), spent)
for (number, name), spent in best.items():
    print(number, name, f"{spent:.2f}", sep="\t")
