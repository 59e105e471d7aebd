"""Compares the transforms with torchvision's on PIL images: transforms.py CPP_PROGRAM.

The C++ program says what it drew for each sample; the same operations are then done by torchvision, and the pixels are
compared. Differences are in levels of 255, after the normalization is undone."""
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torchvision.transforms.functional as F
from PIL import Image
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.autoaugment import AutoAugment, AutoAugmentPolicy, RandAugment, TrivialAugmentWide

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
INTERPOLATION = {"nearest": InterpolationMode.NEAREST, "bilinear": InterpolationMode.BILINEAR}

# How far pixels may be apart: at most, and on average. Operations on bytes are exact; floats are rounded elsewhere
# (FLOATS). A resize rounds its weights to 16 bits, where Pillow has 22 (RESIZE). It always makes rows narrower first;
# Pillow did so too until version 13, which begins with the columns where that is less work, so that its resize in one
# call may round another way (PILLOW_13). A JPEG that is decoded at a half or a quarter of its size has been averaged
# over squares, not triangles (SHRUNK).
FLOATS = (0.001, 0.001)
RESIZE = (1.001, 0.05)
PILLOW_13 = (1.001, 0.25)
# An operation behind a resize may enlarge its differences.
RESIZE_AND_COLOR = (16, 0.2)
SHRUNK = (40, 1.5)

rng = np.random.default_rng(7)


def photo(width, height, channels=3):
    """Waves of many lengths with some noise: smooth as photographs are, and with edges."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    layers = []
    for channel in range(channels):
        layer = np.zeros((height, width))
        for period in (9, 23, 61, 170, 400):
            angle, phase = rng.uniform(0, 2 * math.pi, 2)
            layer += period**0.5 * np.sin((x * math.cos(angle) + y * math.sin(angle)) * 2 * math.pi / period + phase)
        layer = 128 + 3.2 * layer + rng.normal(0, 4, (height, width))
        layer[height // 3 : height // 2, width // 4 : width // 2] = 30 + 60 * channel
        layers.append(layer)
    return np.clip(np.stack(layers, -1), 0, 255).astype(np.uint8)


def beyond(region, width, height):
    left, top, w, h = region
    return [max(0, -left), max(0, -top), max(0, left + w - width), max(0, top + h - height)]


def apply(image, operation, rows_first):
    name, *values = operation
    if name == "crop":
        (left, top, width, height), mode, fill = values
        padding = beyond(values[0], *image.size)
        if any(padding):
            # np.pad, which torchvision calls, wants the fill in the image's form.
            fill = tuple(fill) if image.mode == "RGB" else fill[0]
            image = F.pad(image, padding, fill, mode)
        return F.crop(image, top + padding[1], left + padding[0], height, width)
    if name == "scale":
        if rows_first:
            image = F.resize(image, [image.height, values[0]])
        return F.resize(image, [values[1], values[0]])
    if name == "flip":
        image = F.hflip(image) if values[0] else image
        return F.vflip(image) if values[1] else image
    if name in ("rotate", "shear", "translate"):
        *numbers, interpolation, fill = values
        how = dict(interpolation=INTERPOLATION[interpolation], fill=fill if image.mode == "RGB" else fill[:1])
        if name == "rotate":
            return F.rotate(image, numbers[0], **how)
        if name == "translate":
            return F.affine(image, angle=0.0, translate=numbers, scale=1.0, shear=[0.0, 0.0], **how)
        shear = [math.degrees(math.atan(number)) for number in numbers]
        return F.affine(image, angle=0.0, translate=[0, 0], scale=1.0, shear=shear, center=[0, 0], **how)
    return {
        "brightness": F.adjust_brightness,
        "contrast": F.adjust_contrast,
        "saturation": F.adjust_saturation,
        "sharpness": F.adjust_sharpness,
        "hue": F.adjust_hue,
        "posterize": F.posterize,
        "solarize": F.solarize,
        "auto_contrast": F.autocontrast,
        "equalize": F.equalize,
        "invert": F.invert,
        "grayscale": F.to_grayscale,
    }[name](image, *values)


def expected(image, operations, normalized, rows_first=True):
    """Channels-last floats, and which of them noise has overwritten."""
    erasures = [operation for operation in operations if operation[0] == "erase"]
    for operation in operations:
        if operation[0] != "erase":
            image = apply(image, operation, rows_first)
    tensor = F.to_tensor(image)
    channels = tensor.shape[0]
    if normalized:
        tensor = F.normalize(tensor, MEAN[:channels], STD[:channels])
    noisy = np.zeros((*tensor.shape[1:], channels), bool)
    for _, (left, top, width, height), value, noise in erasures:
        tensor = F.erase(tensor, top, left, height, width, torch.tensor(value[:channels])[:, None, None])
        noisy[top : top + height, left : left + width] = noise
    return tensor.permute(1, 2, 0).numpy(), noisy


NORMALIZE = ["normalize", {"mean": MEAN, "std": STD}]
RRC = ["random_resized_crop", {"size": 224}]
FLIP = ["random_horizontal_flip", {}]
# Transforms, sources ("raw", "small", "gray", "large", "jpeg", "large_jpeg", "png"), bounds and samples.
CASES = [
    ([RRC], ("raw", "jpeg", "png"), RESIZE, 20),
    ([["random_resized_crop", {"size": [97, 301], "scale": [0.2, 0.4]}]], ("raw", "gray"), RESIZE, 10),
    ([["random_resized_crop", {"size": 64}], FLIP], ("small", "raw"), RESIZE, 20),
    ([RRC, FLIP, NORMALIZE], ("raw", "jpeg"), RESIZE, 20),
    ([RRC, FLIP, NORMALIZE], ("large_jpeg",), SHRUNK, 20),
    ([["resize", {"size": 256}]], ("raw", "jpeg", "png", "small"), RESIZE, 1),
    ([["resize", {"size": [300, 100]}]], ("raw", "gray"), RESIZE, 1),
    ([["resize", {"size": 256}], ["center_crop", {"size": 224}], NORMALIZE], ("raw", "jpeg", "png"), RESIZE, 1),
    ([["resize", {"size": 256}], ["center_crop", {"size": 224}], NORMALIZE], ("large_jpeg",), SHRUNK, 1),
    ([["resize", {"size": 200}], ["center_crop", {"size": 224}]], ("raw", "jpeg"), RESIZE, 1),
    ([["resize", {"size": 96}], ["random_crop", {"size": 80, "padding": 8, "fill": [9, 99, 199]}], FLIP], ("raw",), RESIZE, 20),
    ([["center_crop", {"size": [101, 60]}]], ("raw", "jpeg", "small", "gray"), FLOATS, 1),
    ([["pad", {"padding": [3, 5, 7, 11], "fill": [1, 2, 3]}]], ("small", "gray"), FLOATS, 1),
    *[([["pad", {"padding": [3, 40], "padding_mode": mode}]], ("small", "gray"), FLOATS, 1) for mode in ("edge", "reflect", "symmetric")],
    ([["random_crop", {"size": 32, "padding": 4}], FLIP, NORMALIZE], ("small",), FLOATS, 50),
    ([["random_crop", {"size": 32, "padding": 4, "padding_mode": "reflect"}], FLIP, NORMALIZE], ("small",), FLOATS, 50),
    ([["random_crop", {"size": [20, 30], "padding": [2, 9], "fill": 77}], ["random_vertical_flip", {}], FLIP], ("small", "gray"), FLOATS, 50),
    ([["random_crop", {"size": 200}], ["random_vertical_flip", {}], FLIP], ("raw", "jpeg", "png"), FLOATS, 20),
    *[([["random_rotation", {"degrees": 180, "interpolation": how, "fill": [5, 250, 100]}]], ("raw", "small", "gray", "jpeg"), FLOATS, 10) for how in INTERPOLATION],
    ([["color_jitter", {"brightness": 0.5, "contrast": 0.5, "saturation": 0.5, "hue": 0.3}]], ("raw", "small"), FLOATS, 30),
    ([["color_jitter", {"hue": 0.5}]], ("raw",), FLOATS, 10),
    ([RRC, ["color_jitter", {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4}], NORMALIZE], ("raw", "jpeg"), RESIZE_AND_COLOR, 10),
    ([["grayscale", {}]], ("raw", "gray", "jpeg"), FLOATS, 1),
    ([["grayscale", {"num_output_channels": 3}], NORMALIZE], ("raw", "jpeg"), FLOATS, 1),
    ([["random_crop", {"size": 32, "padding": 4}], ["grayscale", {}]], ("small",), FLOATS, 10),
    ([NORMALIZE, ["random_erasing", {"p": 1, "value": [1, 2, 3]}]], ("raw", "small"), FLOATS, 20),
    ([NORMALIZE, ["random_erasing", {"p": 0.7, "value": "random"}]], ("small",), FLOATS, 20),
    *[([["auto_augment", {"policy": policy.value}]], ("raw", "small"), FLOATS, 100) for policy in AutoAugmentPolicy],
    ([["rand_augment", {"interpolation": "bilinear", "fill": [128, 0, 7]}]], ("raw", "small"), FLOATS, 100),
    ([["rand_augment", {"num_ops": 1, "magnitude": 14, "num_magnitude_bins": 20}]], ("raw",), FLOATS, 60),
    ([["trivial_augment_wide", {}]], ("raw", "small"), FLOATS, 200),
]

failures = 0


def fail(message):
    global failures
    failures += 1
    print(message, file=sys.stderr)


def compare(what, found, wanted, bounds, unit=1.0):
    difference = np.abs(found.astype(np.float64) - wanted) * unit
    if difference.max(initial=0) > bounds[0] or difference.mean() > bounds[1]:
        fail(f"{what}: differs by {difference.max():.3f} levels at most and {difference.mean():.4f} on average, "
             f"expected {bounds[0]} and {bounds[1]} at most")
    return difference.max(initial=0), difference.mean()


def magnitudes(transforms, size):
    """What torchvision could have drawn: name and numbers, without signs."""
    name, options = transforms[0]
    if name == "auto_augment":
        space = AutoAugment(AutoAugmentPolicy(options["policy"]))._augmentation_space(10, size)
    elif name == "rand_augment":
        maker = RandAugment(**{key: value for key, value in options.items() if key.startswith(("num", "mag"))})
        space = maker._augmentation_space(maker.num_magnitude_bins, size)
        space = {key: (all_[maker.magnitude : maker.magnitude + 1] if all_.ndim else all_, sign) for key, (all_, sign) in space.items()}
    else:
        space = TrivialAugmentWide()._augmentation_space(31)
    values = {key: [v.item() for v in all_] if all_.ndim else [] for key, (all_, _) in space.items()}
    return {
        "shear": values["ShearX"],
        "translate": [int(v) for v in values["TranslateX"] + values["TranslateY"]],
        "rotate": values["Rotate"],
        "posterize": values["Posterize"],
        "solarize": values["Solarize"],
        **{key: [v for m in values[of] for v in (1 + m, 1 - m)]
           for key, of in (("brightness", "Brightness"), ("saturation", "Color"), ("contrast", "Contrast"), ("sharpness", "Sharpness"))},
    }


def expect_magnitudes(what, operations, possible):
    for name, *values in operations:
        if name in possible:
            number = max(abs(value) for value in values[:2] if isinstance(value, (int, float)))
            if not any(abs(number - one) < 1e-6 for one in possible[name]):
                fail(f"{what}: {name} {number} is none of torchvision's magnitudes")


def check_pictures(cases, answers, folder, images):
    largest = {}
    for i, (case, answer) in enumerate(zip(cases, answers)):
        if "mix" in case:
            continue
        transforms, bounds = case["transforms"], case["bounds"]
        what = f"{' + '.join(name for name, _ in transforms)} ({case['source']})"
        image = images[case["source"]]
        normalized = NORMALIZE in transforms
        channels = answer["size"][2]
        if image.mode == "L" and channels == 3:
            image = image.convert("RGB")
        unit = np.array(STD[:channels]) * 255 if normalized else 255.0
        found = np.fromfile(os.path.join(folder, f"{i}.bin"), np.float32).reshape(-1, *answer["size"])
        if "augment" in transforms[0][0]:
            possible = magnitudes(transforms, image.size[::-1])
            for operations in answer["drawn"]:
                expect_magnitudes(what, operations, possible)
        for sample, operations in enumerate(answer["drawn"]):
            wanted, noisy = expected(image, operations, normalized)
            keep, this = ~noisy, f"{what}, sample {sample}: {operations}"
            differences = compare(this, found[sample][keep], wanted[keep], bounds, np.broadcast_to(unit, keep.shape)[keep])
            largest[what] = np.maximum(largest.get(what, (0, 0)), differences)
            if tuple(bounds) == RESIZE:
                compare(f"{this}, resized in one call", found[sample], expected(image, operations, normalized, False)[0], PILLOW_13, unit)
    for what, (most, mean) in largest.items():
        print(f"{what}: at most {most:.4f} levels, on average {mean:.4f}")


def check_mixes(cases, answers, folder):
    for i, (case, answer) in enumerate(zip(cases, answers)):
        if "mix" not in case:
            continue
        count, height, width = len(case["labels"]), case["height"], case["width"]
        batch = torch.from_numpy(np.fromfile(os.path.join(folder, case["file"]), np.float32))
        batch = batch.reshape(count, height, width, 3).permute(0, 3, 1, 2)
        labels = torch.tensor(case["labels"])
        params = {"labels": labels, "batch_size": count, "lam": answer["share"], "lam_adjusted": answer["share"]}
        if "box" in answer:
            left, top, box_width, box_height = answer["box"]
            params["box"] = (left, top, left + box_width, top + box_height)
        transform = (v2.CutMix if "box" in answer else v2.MixUp)(num_classes=case["classes"])
        pixels = transform.transform(batch, params).permute(0, 2, 3, 1).flatten().numpy()
        found = np.fromfile(os.path.join(folder, f"{i}.bin"), np.float32)
        compare(f"{case['mix']}, pixels", found[: pixels.size], pixels, (0, 0))
        compare(f"{case['mix']}, labels", found[pixels.size :], transform.transform(labels, params).flatten().numpy(), (0, 0))


def write_sources(folder):
    """Sources by name: PIL's image, and what C++ is told of it."""
    arrays = {"raw": photo(500, 375), "small": photo(32, 32), "gray": photo(45, 37, 1), "large": photo(1400, 1000)}
    images, told = {}, {}
    for name, array in arrays.items():
        array.tofile(os.path.join(folder, name))
        images[name] = Image.fromarray(array.squeeze())
        told[name] = {"file": name, "pixels": [array.shape[1], array.shape[0], array.shape[2]]}
    for name, source, options in (("jpeg", "raw", {"quality": 90}), ("large_jpeg", "large", {"quality": 92}), ("png", "raw", {})):
        path = os.path.join(folder, name)
        images[source].save(path, "PNG" if name == "png" else "JPEG", **options)
        images[name] = Image.open(path).convert("RGB")
        told[name] = {"file": name}
    return images, told


with tempfile.TemporaryDirectory() as folder:
    images, told = write_sources(folder)
    cases = [{"transforms": transforms, "source": source, "bounds": bounds, "samples": samples, **told[source]}
             for transforms, sources, bounds, samples in CASES for source in sources]
    rng.normal(size=5 * 24 * 40 * 3).astype(np.float32).tofile(os.path.join(folder, "batch"))
    cases += [{"mix": mix, "file": "batch", "labels": [3, 1, 1, 0, 2], "classes": 4, "width": 40, "height": 24, "alpha": alpha, "seed": seed}
              for mix in ("mix_up", "cut_mix") for alpha in (0.2, 1.0, 3.0) for seed in range(5)]
    with open(os.path.join(folder, "cases.json"), "w") as file:
        json.dump(cases, file)
    subprocess.run([sys.argv[1], folder], check=True)
    with open(os.path.join(folder, "answers.json")) as file:
        answers = json.load(file)
    check_pictures(cases, answers, folder, images)
    check_mixes(cases, answers, folder)

print(f"{len(cases)} cases: {failures} differences")
sys.exit(failures != 0)
