"""A U-Net for segmentation, after Ronneberger et al., "U-Net", 2015."""

import torch
from torch import Tensor, nn


class DoubleConv(nn.Sequential):
    """Two 3×3 convolutions that keep the size of the image."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        )


class Up(nn.Module):
    """Doubles the size and joins what the way down kept."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(inputs, outputs, 2, stride=2)
        self.conv = DoubleConv(2 * outputs, outputs)

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        """Features (batch, inputs, h, w) and (batch, outputs, 2h, 2w) to (batch, outputs, 2h, 2w)."""
        return self.conv(torch.cat([skip, self.up(x)], dim=1))


class UNet(nn.Module):
    """Three steps down, three steps up."""

    def __init__(self, channels: int = 3, classes: int = 2, width: int = 16) -> None:
        super().__init__()
        self.enter = DoubleConv(channels, width)
        self.down1 = DoubleConv(width, 2 * width)
        self.down2 = DoubleConv(2 * width, 4 * width)
        self.bottom = DoubleConv(4 * width, 8 * width)
        self.pool = nn.MaxPool2d(2)
        self.up1 = Up(8 * width, 4 * width)
        self.up2 = Up(4 * width, 2 * width)
        self.up3 = Up(2 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, image: Tensor) -> Tensor:
        """Images (batch, channels, height, width) to class scores (batch, classes, height, width)."""
        a = self.enter(image)
        b = self.down1(self.pool(a))
        c = self.down2(self.pool(b))
        x = self.bottom(self.pool(c))
        x = self.up3(self.up2(self.up1(x, c), b), a)
        return self.head(x)
