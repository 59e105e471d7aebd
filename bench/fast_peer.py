"""PyTorch with the recipe of the first rows of docs/results.md: ResNet-18 on CIFAR-10 as JPEG files, crop and flip.

usage: fast_peer.py DATA EPOCHS WARMUP [--device cuda|cpu] [--batch N]

DATA has train/ and test/ with a folder for each class. All pictures lie in the device's memory. Prints the accuracy of
training and test every five epochs and at the end.
"""
import argparse
import glob
import os
import time
from multiprocessing import Pool

import numpy as np
import torch
import torch.nn.functional as F
import torchvision
from PIL import Image


def read(path):
    return np.asarray(Image.open(path).convert("RGB"))


def load(folder, device):
    paths, labels = [], []
    for label, name in enumerate(sorted(os.listdir(folder))):
        files = sorted(glob.glob(f"{folder}/{name}/*.jpg"))
        paths += files
        labels += [label] * len(files)
    with Pool(os.cpu_count()) as pool:
        pixels = np.stack(pool.map(read, paths, chunksize=500))
    return torch.tensor(pixels).permute(0, 3, 1, 2).contiguous().to(device), torch.tensor(labels, device=device)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("epochs", type=int)
    parser.add_argument("warmup", type=int)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--batch", type=int, default=512)
    options = parser.parse_args()
    device, batch, epochs = options.device, options.batch, options.epochs
    train, train_labels = load(f"{options.data}/train", device)
    test, test_labels = load(f"{options.data}/test", device)
    mean = torch.tensor([0.4914, 0.4822, 0.4465], device=device).view(1, 3, 1, 1) * 255
    deviation = torch.tensor([0.2470, 0.2435, 0.2616], device=device).view(1, 3, 1, 1) * 255

    def normalized(pixels):
        return ((pixels.float() - mean) / deviation).contiguous(memory_format=torch.channels_last)

    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    model = torchvision.models.resnet18(num_classes=10)
    model.conv1 = torch.nn.Conv2d(3, 64, 3, 1, 1, bias=False)
    model.maxpool = torch.nn.Identity()
    model = model.to(device, memory_format=torch.channels_last)
    weights = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.SGD([{"params": weights, "weight_decay": 5e-4}, {"params": others, "weight_decay": 0}],
                                lr=0.4, momentum=0.9, nesterov=True, fused=True)
    steps, pixel = len(train) // batch, torch.arange(32, device=device)
    padded = F.pad(train, (4, 4, 4, 4))
    began = time.time()
    for epoch in range(epochs):
        model.train()
        order, correct = torch.randperm(len(train), device=device), 0
        for step in range(steps):
            now = epoch + step / steps
            for group in optimizer.param_groups:
                group["lr"] = 0.4 * min(now / options.warmup, 1) * (1 - now / epochs)
            chosen = order[step * batch:(step + 1) * batch]
            rows = torch.randint(0, 9, (batch, 1), device=device) + pixel
            columns = torch.randint(0, 9, (batch, 1), device=device) + pixel
            columns = torch.where(torch.rand(batch, 1, device=device) < 0.5, columns.flip(1), columns)
            pictures = padded[chosen[:, None, None], :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
            labels = train_labels[chosen]
            with torch.autocast(device, dtype=torch.bfloat16):
                scores = model(normalized(pictures))
                loss = F.cross_entropy(scores.float(), labels, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += (scores.argmax(1) == labels).sum()
        if epoch % 5 != 4 and epoch != epochs - 1:
            continue
        model.eval()
        right = 0
        with torch.no_grad(), torch.autocast(device, dtype=torch.bfloat16):
            for first in range(0, len(test), 1000):
                part = slice(first, first + 1000)
                right += (model(normalized(test[part])).argmax(1) == test_labels[part]).sum().item()
        print(f"epoch {epoch + 1}: train {correct.item() / (steps * batch):.4f}, test {right / len(test):.4f}, "
              f"{time.time() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
