// Justified rows: every picture keeps its aspect ratio, every row but a month's last one has the full width, and nothing
// moves when pictures arrive. The whole list is laid out at once, in about 10 ms for 100,000 pictures.

import { monthOf } from "/gallery/strings.js"

export const GAP = 3
const HEADING = 58

/// Panoramas and very narrow pictures are shown cropped in the grid.
const clampRatio = (ratio) => Math.min(3.2, Math.max(0.45, ratio))

export class Layout {
  /// Row r has the assets firsts[r]..<firsts[r + 1], from y tops[r], with the height heights[r].
  constructor(assets, width, rowHeight) {
    const firsts = [], tops = [], heights = [], months = []
    const lefts = new Float32Array(assets.length), widths = new Float32Array(assets.length)
    let y = 0, index = 0
    while (index < assets.length) {
      const month = monthOf(assets[index].date, assets[index].offset)
      months.push({ month, top: y, first: index, row: tops.length })
      y += HEADING
      while (index < assets.length && monthOf(assets[index].date, assets[index].offset) === month) {
        const first = index
        let sum = 0
        do {
          sum += clampRatio(assets[index].ratio)
          index += 1
        } while (
          index < assets.length && sum * rowHeight + GAP * (index - first) < width
          && monthOf(assets[index].date, assets[index].offset) === month)
        const gaps = GAP * (index - first - 1)
        // The last row of a month is not stretched.
        const height = Math.min((width - gaps) / sum, rowHeight * 1.35)
        let x = 0
        for (let item = first; item < index; item++) {
          lefts[item] = x
          widths[item] = clampRatio(assets[item].ratio) * height
          x += widths[item] + GAP
        }
        firsts.push(first)
        tops.push(y)
        heights.push(height)
        y += height + GAP
      }
    }
    firsts.push(assets.length)
    Object.assign(this, { firsts, tops, heights, months, lefts, widths, height: y })
  }

  /// The first row that ends below y.
  rowAt(y) {
    let low = 0, high = this.tops.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.tops[middle] + this.heights[middle] < y) low = middle + 1
      else high = middle
    }
    return low
  }

  rowOf(index) {
    let low = 0, high = this.tops.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.firsts[middle] <= index) low = middle
      else high = middle - 1
    }
    return low
  }

  /// The assets in rows that touch the range of y, as [first, last]; null if there are none.
  visible(top, bottom) {
    const row = this.rowAt(top)
    let end = row
    while (end < this.tops.length && this.tops[end] < bottom) end += 1
    return end > row ? [this.firsts[row], this.firsts[end] - 1] : null
  }

  /// The asset in a neighbouring row whose middle is nearest; for the arrow keys.
  neighbour(index, step) {
    const row = this.rowOf(index) + step
    if (row < 0 || row >= this.tops.length) return index
    const middle = this.lefts[index] + this.widths[index] / 2
    let best = this.firsts[row]
    for (let item = best; item < this.firsts[row + 1]; item++) {
      const distance = (i) => Math.abs(this.lefts[i] + this.widths[i] / 2 - middle)
      if (distance(item) < distance(best)) best = item
    }
    return best
  }

  monthAt(y) {
    let low = 0, high = this.months.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.months[middle].top <= y) low = middle
      else high = middle - 1
    }
    return this.months[low]
  }
}
