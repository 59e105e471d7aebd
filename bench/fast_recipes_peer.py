"""Recipes for configs/cifar10-fast.yaml, tried in PyTorch: its net and settings, and one thing changed.

usage: fast_recipes_peer.py DATA RECIPE...

DATA has train/ and test/ with a folder of JPEG files for each class. The last 1,000 training pictures of each class are
held out; test/ is not looked at. A RECIPE is a name and numbers, as 'cutmix epochs=112,cutmix=.5'; what it leaves out is
that of the config. Prints for each the accuracy on the training pictures in the last epoch, and on the held-out ones
with the last weights and with their average. Needs one GPU.
"""
import argparse
import ast
import math
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from fast_peer import load

DEVICE = "cuda"
MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
DEFAULTS = dict(epochs=80, lr=0.8, wd=5e-4, ls=0.2, batch=1024, lo=0.1, hi=0.25, ema=0.999, width=(128, 384, 512),
                cutmix=0.0,  # of the batches: this part
                sam=0.0,     # how far to climb, by the gradient of a quarter of the batch
                affine=0.0,  # of the pictures: this part is turned, scaled and sheared
                color=0.0,   # how far brightness, contrast and saturation may go
                finish=0.0,  # of the epochs: the last part has no crops, no erasing and no CutMix
                phase=0,     # 1: the net is told where in a JPEG block a pixel lies, by four more channels
                pairs=1,     # of convolutions with a shortcut, in each group
                dequant=0.0, # how far JPEG's coefficients vary within what they were rounded from; 1: all of it
                zeros=0.3,   # of that, for those that became 0
                side=32,     # pixels that pictures are enlarged to
                muon=0.0)    # rate of Muon for the convolutions but the first


class Step(nn.Module):
    def __init__(self, inputs, outputs, pool=False):
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm, self.pool = nn.BatchNorm2d(outputs), pool

    def forward(self, x):
        x = self.convolution(x)
        return self.norm(F.max_pool2d(x, 2) if self.pool else x)


class Group(nn.Module):
    def __init__(self, inputs, outputs, pairs):
        super().__init__()
        self.steps = nn.ModuleList([Step(inputs, outputs, pool=True)] +
                                   [Step(outputs, outputs) for _ in range(2 * pairs)])
        for step in self.steps:
            weight = step.convolution.weight
            nn.init.dirac_(weight.data[:weight.size(1)])

    def forward(self, x):
        x = F.gelu(self.steps[0](x))
        for second, third in zip(self.steps[1::2], self.steps[2::2]):
            x = F.gelu(third(F.gelu(second(x))) + x)
        return x


class Airbench(nn.Module):
    def __init__(self, widths, inputs, pairs):
        super().__init__()
        self.stem = Step(inputs, 32)
        self.groups = nn.Sequential(*[Group(i, o, pairs) for i, o in zip((32, *widths), widths)])
        self.fc = nn.Linear(widths[-1], 10, bias=False)

    def forward(self, x):
        # Not amax: its gradient, compiled in bfloat16, is NaN.
        return self.fc(F.max_pool2d(self.groups(F.gelu(self.stem(x))), x.size(2) // 8).flatten(1)) / 9


def per_channel(numbers):
    return torch.tensor(numbers, device=DEVICE).view(1, 3, 1, 1) * 255


def phases(rows, columns):
    """Where in the blocks of 8 and 16 pixels the given ones lie: the same from both sides, as flips need it."""
    def wave(place, period):
        return torch.cos((place + 0.5) * (2 * math.pi / period))

    size = (len(rows), rows.size(1), columns.size(1))
    return torch.stack([wave(rows, period)[:, :, None].expand(size) for period in (8, 16)] +
                       [wave(columns, period)[:, None, :].expand(size) for period in (8, 16)], 1)


def turned(x, part):
    """That part of the pictures, turned by up to 15 degrees, scaled by up to 15% and sheared by up to 0.1."""
    def uniform(most):
        return (torch.rand(len(x), device=DEVICE) * 2 - 1) * most * (chosen < part)

    chosen = torch.rand(len(x), device=DEVICE)
    angle, scale, shear = uniform(math.pi / 12), 1 + uniform(0.15), uniform(0.1)
    zero = torch.zeros_like(angle)
    first = torch.stack([scale * angle.cos(), -scale * angle.sin() + shear, zero], 1)
    second = torch.stack([scale * angle.sin(), scale * angle.cos(), zero], 1)
    grid = F.affine_grid(torch.stack([first, second], 1), list(x.shape), align_corners=False)
    return torch.where((chosen < part)[:, None, None, None],
                       F.grid_sample(x, grid, padding_mode="reflection", align_corners=False), x)


def recolored(x, most):
    def factor():
        return 1 + (torch.rand(len(x), 1, 1, 1, device=DEVICE) * 2 - 1) * most

    gray = x.mean(1, keepdim=True)
    x = gray + (x - gray) * factor()
    mean = x.mean((1, 2, 3), keepdim=True)
    return mean + (x - mean) * factor() + (factor() - 1)


def cosines(blocks):
    """The matrix of JPEG's transform for so many blocks of eight pixels."""
    number = torch.arange(8, device=DEVICE, dtype=torch.float32)
    one = torch.cos((2 * number[None] + 1) * number[:, None] * math.pi / 16) / 2
    one[0] /= math.sqrt(2)
    return torch.block_diag(*[one] * blocks)


def table(numbers, blocks):
    return torch.tensor(numbers, device=DEVICE, dtype=torch.float32).view(8, 8).repeat(blocks, blocks)


class Jpeg:
    """What JPEG of quality 75, with halved chroma, has rounded in pictures of 32 x 32 pixels."""
    LUMA = [8, 6, 5, 8, 12, 20, 26, 31, 6, 6, 7, 10, 13, 29, 30, 28, 7, 7, 8, 12, 20, 29, 35, 28, 7, 9, 11, 15, 26, 44, 40, 31,
            9, 11, 19, 28, 34, 55, 52, 39, 12, 18, 28, 32, 41, 52, 57, 46, 25, 32, 39, 44, 52, 61, 60, 51, 36, 46, 48, 49, 56,
            50, 52, 50]
    CHROMA = [9, 9, 12, 24, 50, 50, 50, 50, 9, 11, 13, 33, 50, 50, 50, 50, 12, 13, 28, 50, 50, 50, 50, 50, 24, 33] + [50] * 38

    def __init__(self, pictures):
        self.steps = table(self.LUMA, 4), table(self.CHROMA, 2)
        self.transforms = cosines(4), cosines(2)
        red, green, blue = pictures.float().unbind(1)
        luma = 0.299 * red + 0.587 * green + 0.114 * blue
        chroma = F.avg_pool2d(torch.stack([0.564 * (blue - luma), 0.713 * (red - luma)], 1), 2)
        self.known = [(t @ x @ t.T / step).round() != 0
                      for t, x, step in zip(self.transforms, (luma - 128, chroma), self.steps)]
        # As decoders enlarge chroma: three quarters of the nearest value, and one of the next.
        near = torch.arange(32, device=DEVICE) // 2
        far = (near + torch.arange(32, device=DEVICE) % 2 * 2 - 1).clamp(0, 15)
        self.enlarge = 0.75 * F.one_hot(near, 16).float() + 0.25 * F.one_hot(far, 16).float()

    def varied(self, chosen, amount, zeros):
        """What could have been lost, for each of these pictures."""
        noise = []
        for transform, step, known in zip(self.transforms, self.steps, self.known):
            some = known[chosen]
            of_step = (torch.rand(some.shape, device=DEVICE) - 0.5) * torch.where(some, amount, amount * zeros)
            noise.append(transform.T @ (of_step * step) @ transform)
        luma, (blue, red) = noise[0], (self.enlarge @ noise[1] @ self.enlarge.T).unbind(1)
        return torch.stack([luma + 1.402 * red, luma - 0.344 * blue - 0.714 * red, luma + 1.772 * blue], 1)


def enlarged(x, side):
    return x if side == x.size(2) else F.interpolate(x, size=(side, side), mode="bilinear", align_corners=False)


@torch.compile(dynamic=False)
def augmented(padded, chosen, lo: float, hi: float, affine: float, color: float, phase: int, moves: int):
    """Crops of pictures that are padded by 4, flipped, normalized, with a rectangle of them erased."""
    count, pixel = len(chosen), torch.arange(32, device=DEVICE)

    def uniform():
        return torch.rand(count, device=DEVICE)

    rows = torch.randint(4 - moves, 5 + moves, (count, 1), device=DEVICE) + pixel
    columns = torch.randint(4 - moves, 5 + moves, (count, 1), device=DEVICE) + pixel
    columns = torch.where(uniform()[:, None] < 0.5, columns.flip(1), columns)
    channels = torch.arange(3, device=DEVICE)[None, :, None, None]
    x = padded[chosen[:, None, None, None], channels, rows[:, None, :, None], columns[:, None, None, :]]
    x = (x.float() - per_channel(MEAN)) / per_channel(DEVIATION)
    if affine > 0:
        x = turned(x, affine)
    if color > 0:
        x = recolored(x, color)
    if hi > 0:
        area = 1024 * (lo + (hi - lo) * uniform())
        ratio = torch.exp(math.log(0.6) + (math.log(1.6) - math.log(0.6)) * uniform())
        height, width = (area * ratio).sqrt().round().clamp(1, 31), (area / ratio).sqrt().round().clamp(1, 31)

        def inside(length):
            begin = (uniform() * (33 - length)).floor()
            return (pixel >= begin[:, None]) & (pixel < (begin + length)[:, None])

        x = torch.where((inside(height)[:, :, None] & inside(width)[:, None, :])[:, None], 0.0, x)
    return torch.cat([x, phases(rows - 4, columns - 4)], 1) if phase else x


def mixed(x, y, chance):
    """CutMix with the next picture of the batch; `y` are the labels as rows of numbers."""
    if np.random.rand() >= chance:
        return x, y
    side = int(32 * (1 - np.random.beta(1, 1)) ** 0.5)
    row, column = np.random.randint(32), np.random.randint(32)
    top, bottom = max(row - side // 2, 0), min(row + side // 2, 32)
    left, right = max(column - side // 2, 0), min(column + side // 2, 32)
    x[:, :, top:bottom, left:right] = x.roll(1, 0)[:, :, top:bottom, left:right]
    kept = 1 - (bottom - top) * (right - left) / 1024
    return x, kept * y + (1 - kept) * y.roll(1, 0)


def orthogonal(matrix, steps=3):
    """Newton and Schulz's iteration, as Muon has it."""
    x = matrix.bfloat16() / (matrix.norm() + 1e-7)
    tall = x.size(0) > x.size(1)
    x = x.T if tall else x
    for _ in range(steps):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x.T if tall else x


class Optimizer:
    """SGD with Nesterov's momentum, and Muon where it is asked for; norms and biases do not decay."""

    def __init__(self, model, recipe):
        self.recipe = recipe
        self.by_muon = [p for p in model.parameters() if p.dim() == 4 and p.size(1) > 3] if recipe["muon"] else []
        chosen = {id(p) for p in self.by_muon}
        self.weights = [p for p in model.parameters() if p.dim() > 1 and id(p) not in chosen]
        self.others = [p for p in model.parameters() if p.dim() <= 1]
        self.momenta = {p: torch.zeros_like(p) for p in model.parameters()}

    @torch.no_grad()
    def step(self, rate):
        parameters = self.weights + self.others
        gradients = list(torch._foreach_add([p.grad for p in self.weights], self.weights, alpha=self.recipe["wd"]))
        gradients += [p.grad for p in self.others]
        momenta = [self.momenta[p] for p in parameters]
        torch._foreach_mul_(momenta, 0.9)
        torch._foreach_add_(momenta, gradients)
        torch._foreach_add_(gradients, momenta, alpha=0.9)
        torch._foreach_add_(parameters, gradients, alpha=-rate)
        for p in self.by_muon:
            self.momenta[p].mul_(0.6).add_(p.grad)
            step = orthogonal((p.grad + 0.6 * self.momenta[p]).flatten(1)).view_as(p)
            p.mul_(len(p) ** 0.5 / p.norm()).add_(step, alpha=-rate / self.recipe["lr"] * self.recipe["muon"])


def gradients(model, forward, x, y, smoothing):
    for p in model.parameters():
        p.grad = None
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        scores = forward(x)
    F.cross_entropy(scores.float(), y, label_smoothing=smoothing).backward()
    return scores


def climb(model, forward, x, y, recipe):
    """To where the loss of these samples is higher, as SAM does; returns how far. Statistics stay as they are."""
    norms = [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 0.0
    gradients(model, forward, x, y, recipe["ls"])
    for norm in norms:
        norm.momentum = 0.1
    found = [p.grad for p in model.parameters()]
    length = torch.stack(torch._foreach_norm(found)).norm()
    way = torch._foreach_mul(found, recipe["sam"] / (length + 1e-12))
    torch._foreach_add_([p.data for p in model.parameters()], way)
    return way


@torch.no_grad()
def accuracy(model, pictures, labels, phase, side):
    """With mirror images, and both moved by a pixel to all sides."""
    model.eval()
    right = 0
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        for first in range(0, len(pictures), 1000):
            x = (pictures[first:first + 1000].float() - per_channel(MEAN)) / per_channel(DEVIATION)
            x, votes = F.pad(x, (1, 1, 1, 1), mode="reflect"), 0
            if phase:
                place = torch.arange(-1, 33, device=DEVICE)[None].expand(len(x), -1)
                x = torch.cat([x, phases(place, place)], 1)
            for top in range(3):
                for left in range(3):
                    view = enlarged(x[:, :, top:top + 32, left:left + 32], side)
                    view = view.contiguous(memory_format=torch.channels_last)
                    votes = votes + model(view).float().softmax(1) + model(view.flip(3)).float().softmax(1)
            right += (votes.argmax(1) == labels[first:first + 1000]).sum().item()
    model.train()
    return right / len(pictures)


def train(name, recipe, pictures, labels, held, held_labels):
    torch.manual_seed(0)
    np.random.seed(0)
    model = Airbench(recipe["width"], 3 + 4 * recipe["phase"], recipe["pairs"]).to(DEVICE, memory_format=torch.channels_last)
    forward, optimizer = torch.compile(model, dynamic=False), Optimizer(model, recipe)
    state = [t for t in model.state_dict().values() if t.is_floating_point()]
    average = [t.clone() for t in state]
    epochs, batch, steps = recipe["epochs"], recipe["batch"], len(pictures) // recipe["batch"]
    padded = F.pad(pictures.float(), (4, 4, 4, 4), mode="reflect").to(torch.uint8)
    jpeg = Jpeg(pictures) if recipe["dequant"] else None
    began = time.time()
    for epoch in range(epochs):
        order, correct = torch.randperm(len(pictures), device=DEVICE), 0
        for step in range(steps):
            now = epoch + step / steps
            chosen = order[step * batch:(step + 1) * batch]
            ends = epoch >= round(epochs * (1 - recipe["finish"]))
            given, which = padded, chosen
            if jpeg is not None:
                varied = pictures[chosen].float() + jpeg.varied(chosen, recipe["dequant"], recipe["zeros"])
                given, which = F.pad(varied, (4, 4, 4, 4), mode="reflect"), torch.arange(batch, device=DEVICE)
            x = augmented(given, which, recipe["lo"], 0.0 if ends else recipe["hi"], recipe["affine"], recipe["color"],
                          recipe["phase"], 0 if ends else 4)
            x, y = mixed(x, F.one_hot(labels[chosen], 10).float(), 0.0 if ends else recipe["cutmix"])
            x = enlarged(x, recipe["side"]).contiguous(memory_format=torch.channels_last)
            way = climb(model, forward, x[:batch // 4], y[:batch // 4], recipe) if recipe["sam"] else None
            scores = gradients(model, forward, x, y, recipe["ls"])
            correct += (scores.argmax(1) == labels[chosen]).sum()
            if way is not None:
                torch._foreach_sub_([p.data for p in model.parameters()], way)
            optimizer.step(recipe["lr"] * min(now / (epochs * 10 / 135), 1) * (1 - now / epochs))
            done = epoch * steps + step + 1
            torch._foreach_lerp_(average, state, 1 - min(recipe["ema"], (1 + done) / (10 + done)))
    took, phase, side = time.time() - began, recipe["phase"], recipe["side"]
    last = accuracy(model, held, held_labels, phase, side)
    for value, mean in zip(state, average):
        value.copy_(mean)
    print(f"{name}: train {correct.item() / (steps * batch):.4f}, held out {last:.4f}, average "
          f"{accuracy(model, held, held_labels, phase, side):.4f}, {took:.1f} s", flush=True)


def recipe_of(text):
    name, _, numbers = text.partition(" ")
    call = ast.parse(f"dict({numbers})", mode="eval").body
    changed = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    if unknown := changed.keys() - DEFAULTS.keys():
        raise argparse.ArgumentTypeError(f"no such number: {', '.join(unknown)}; there are {', '.join(DEFAULTS)}")
    return name, DEFAULTS | changed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("recipes", type=recipe_of, nargs="+", metavar="RECIPE")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    pictures, labels = load(f"{options.data}/train", DEVICE)
    places = torch.arange(len(pictures), device=DEVICE).view(10, -1)
    known, held = places[:, :-1000].flatten(), places[:, -1000:].flatten()
    for name, recipe in options.recipes:
        train(name, recipe, pictures[known], labels[known], pictures[held], labels[held])


if __name__ == "__main__":
    main()
