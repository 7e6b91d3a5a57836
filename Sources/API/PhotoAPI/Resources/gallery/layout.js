// Justified rows: every picture keeps its aspect ratio, every row but a month's last one has the full width, and nothing
// moves when pictures arrive. Months of a few pictures share a row. The whole list is laid out at once, in about 10 ms for
// 100,000 pictures.

import { monthOf } from "/gallery/strings.js"

export const GAP = 3
const HEADING = 58
/// Between months in one row, and the least width of a month's name there.
const MONTH_GAP = 18
const MONTH_WIDTH = 172

/// Panoramas and very narrow pictures are shown cropped in the grid.
const clampRatio = (ratio) => Math.min(3.2, Math.max(0.45, ratio))

export class Layout {
  /// Row r has the assets firsts[r]..<firsts[r + 1], from y tops[r], with the height heights[r].
  /// With `hasOwnOrder`, the list is not by date and has no months.
  constructor(assets, width, rowHeight, hasOwnOrder = false) {
    const firsts = [], tops = [], heights = [], months = []
    const lefts = new Float32Array(assets.length), widths = new Float32Array(assets.length)
    let y = hasOwnOrder ? 14 : 0, index = 0
    const groupOf = hasOwnOrder ? () => null : ({ date, offset }) => monthOf(date, offset)
    const place = (item, x, height) => {
      lefts[item] = x
      widths[item] = clampRatio(assets[item].ratio) * height
      return x + widths[item] + GAP
    }
    const addRow = (first, height) => {
      firsts.push(first)
      tops.push(y)
      heights.push(height)
      y += height + GAP
    }
    /// A month that starts here and fits into a row: its end and its width; else null.
    const shortMonth = (first, month) => {
      let end = first, extent = -GAP
      while (end < assets.length && groupOf(assets[end]) === month) {
        extent += clampRatio(assets[end++].ratio) * rowHeight + GAP
        if (extent > width) return null
      }
      return { end, extent }
    }
    while (index < assets.length) {
      const month = groupOf(assets[index])
      let short = month === null ? null : shortMonth(index, month)
      months.push({ month, top: y, left: 0, first: index, row: tops.length })
      if (month !== null) y += HEADING
      if (short) {
        const first = index, { top, row } = months.at(-1)
        for (let left = 0; short;) {
          let x = left
          while (index < short.end) x = place(index++, x, rowHeight)
          left += Math.max(short.extent, MONTH_WIDTH) + MONTH_GAP
          const next = index < assets.length ? groupOf(assets[index]) : null
          short = next === null ? null : shortMonth(index, next)
          if (short && left + Math.max(short.extent, MONTH_WIDTH) > width) short = null
          if (short) months.push({ month: next, top, left, first: index, row })
        }
        addRow(first, rowHeight)
        continue
      }
      while (index < assets.length && groupOf(assets[index]) === month) {
        const first = index
        let sum = 0
        do {
          sum += clampRatio(assets[index].ratio)
          index += 1
        } while (
          index < assets.length && sum * rowHeight + GAP * (index - first) < width
          && groupOf(assets[index]) === month)
        const full = (width - GAP * (index - first - 1)) / sum
        // The last row of a month is not stretched much.
        const height = full < rowHeight * 1.2 ? full : rowHeight
        let x = 0
        for (let item = first; item < index; item++) x = place(item, x, height)
        addRow(first, height)
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
