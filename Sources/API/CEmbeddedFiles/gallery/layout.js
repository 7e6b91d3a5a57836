// Justified rows: all but a month's last one have the full width, and short months share one. The list is laid out
// at once, so nothing moves when pictures arrive.

import { clamp } from "./dom.js"
import { monthOf } from "./strings.js"

const GAP = 3
const HEADING = 58
/// Between months in a row, and the least width of their names.
const MONTH_GAP = 18
const MONTH_WIDTH = 172
/// How much the last row of a month may be stretched.
const STRETCH = 1.2

/// Panoramas and very narrow pictures are cropped.
const shownRatio = (asset) => clamp(asset.aspectRatio, 0.45, 3.2)

export class Layout {
  /// `rows` are {first, top, height}, by index. With `hasOwnOrder`, the list has no months.
  constructor(assets, width, rowHeight, hasOwnOrder = false) {
    const rows = [], months = []
    const lefts = new Float32Array(assets.length), widths = new Float32Array(assets.length)
    let y = hasOwnOrder ? 14 : 0
    const place = (first, end, left, height) => {
      for (let index = first, x = left; index < end; index++) {
        lefts[index] = x
        widths[index] = shownRatio(assets[index]) * height
        x += widths[index] + GAP
      }
    }
    /// Where a short month may begin in the last row.
    let free = Infinity
    for (const { month, first, end } of monthsOf(assets, hasOwnOrder)) {
      let extent = -GAP
      for (let index = first; index < end && extent <= width; index++) extent += shownRatio(assets[index]) * rowHeight + GAP
      const isShort = month !== null && extent <= width, needed = Math.max(extent, MONTH_WIDTH)
      if (isShort && free + needed <= width) {
        months.push({ month, left: free, top: months.at(-1).top })
        place(first, end, free, rowHeight)
        free += needed + MONTH_GAP
        continue
      }
      months.push({ month, left: 0, top: y })
      if (month !== null) y += HEADING
      free = isShort ? needed + MONTH_GAP : Infinity
      for (let index = first; index < end;) {
        const start = index
        let ratios = 0
        do ratios += shownRatio(assets[index++])
        while (index < end && ratios * rowHeight + GAP * (index - start) < width)
        const full = (width - GAP * (index - start - 1)) / ratios
        const height = !isShort && full < rowHeight * STRETCH ? full : rowHeight
        place(start, index, 0, height)
        rows.push({ first: start, top: y, height })
        y += height + GAP
      }
    }
    Object.assign(this, { rows, months, lefts, widths, height: y })
  }

  #numberOf(index) { return firstWhere(this.rows.length - 1, (row) => this.rows[row + 1].first > index) }

  rowOf(index) { return this.rows[this.#numberOf(index)] }

  #endOf(row) { return this.rows[row + 1]?.first ?? this.lefts.length }

  /// [first, last] of the rows that touch the range of y, or null.
  visible(top, bottom) {
    const { rows } = this, row = firstWhere(rows.length, (row) => rows[row].top + rows[row].height >= top)
    const end = firstWhere(rows.length, (row) => rows[row].top >= bottom)
    return end > row ? [rows[row].first, this.#endOf(end - 1) - 1] : null
  }

  /// The asset in a neighbouring row whose middle is nearest.
  neighbour(index, step) {
    const row = this.#numberOf(index) + step
    if (!this.rows[row]) return index
    const middle = (item) => this.lefts[item] + this.widths[item] / 2
    const distance = (item) => Math.abs(middle(item) - middle(index))
    let best = this.rows[row].first
    for (let item = best; item < this.#endOf(row); item++) if (distance(item) < distance(best)) best = item
    return best
  }

  monthAt(y) { return this.months[Math.max(0, firstWhere(this.months.length, (month) => this.months[month].top > y) - 1)] }
}

/// The first number from which on `holds` is true, or `count`.
function firstWhere(count, holds) {
  let low = 0, high = count
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/// Neighbours of the same month: {month, first, end}.
function monthsOf(assets, hasOwnOrder) {
  const found = []
  assets.forEach((asset, index) => {
    const month = hasOwnOrder ? null : monthOf(asset)
    if (found.at(-1)?.month !== month) found.push({ month, first: index })
    found.at(-1).end = index + 1
  })
  return found
}
