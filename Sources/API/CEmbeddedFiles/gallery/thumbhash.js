// Decodes ThumbHash placeholders (https://evanw.github.io/thumbhash): cosine terms of four bits.

import { make } from "./dom.js"

const SIDE = 14
const canvas = make("canvas")
const cosines = Array.from({ length: 8 }, (_, c) =>
  Float32Array.from({ length: SIDE }, (_, x) => Math.cos(Math.PI / SIDE * (x + 0.5) * c)))

/// A data URL of a small blurred picture.
export function placeholderURL(base64) {
  const hash = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))
  const low = hash[0] | hash[1] << 8 | hash[2] << 16
  const high = hash[3] | hash[4] << 8
  const hasAlpha = low >> 23 === 1, isLandscape = high >> 15 === 1
  const long = hasAlpha ? 5 : 7, short = Math.max(3, high & 7)
  let position = (hasAlpha ? 6 : 5) * 2
  const nibble = () => { const index = position++; return hash[index >> 1] >> (index & 1) * 4 & 15 }
  // Terms (cx, cy, weight) below the diagonal, the constant one first.
  const channel = (constant, nx, ny, scale) => {
    const terms = [[0, 0, constant]]
    for (let cy = 0; cy < ny; cy++) {
      for (let cx = cy === 0 ? 1 : 0; cx * ny < nx * (ny - cy); cx++) terms.push([cx, cy, 2 * (nibble() / 7.5 - 1) * scale])
    }
    return terms
  }
  const nx = isLandscape ? long : short, ny = isLandscape ? short : long
  const luminance = channel((low & 63) / 63, nx, ny, (low >> 18 & 31) / 31)
  const yellowBlue = channel((low >> 6 & 63) / 31.5 - 1, 3, 3, (high >> 3 & 63) / 63 * 1.25)
  const redGreen = channel((low >> 12 & 63) / 31.5 - 1, 3, 3, (high >> 9 & 63) / 63 * 1.25)
  const alpha = hasAlpha ? channel((hash[5] & 15) / 15, 5, 5, (hash[5] >> 4) / 15) : [[0, 0, 1]]
  const value = (terms, x, y) => {
    let sum = 0
    for (const [cx, cy, weight] of terms) sum += weight * cosines[cx][x] * cosines[cy][y]
    return sum
  }
  const pixels = new ImageData(SIDE, SIDE)
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++) {
      const l = value(luminance, x, y), p = value(yellowBlue, x, y), q = value(redGreen, x, y)
      const blue = l - 2 / 3 * p, red = (3 * l - blue + q) / 2
      pixels.data.set([red * 255, (red - q) * 255, blue * 255, value(alpha, x, y) * 255], (y * SIDE + x) * 4)
    }
  }
  canvas.width = canvas.height = SIDE
  canvas.getContext("2d").putImageData(pixels, 0, 0)
  return canvas.toDataURL()
}
