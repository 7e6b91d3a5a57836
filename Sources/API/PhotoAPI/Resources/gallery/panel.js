// The service panel: what the daemon does for this page. PhotoKit's StarGallery had one; this one reads /metrics, where
// the caller may, and the page's own preheat window.

import { json, request } from "/gallery/api.js"
import { make, on } from "/gallery/dom.js"
import { bytes, text } from "/gallery/strings.js"

const INTERVAL = 2000

export class Panel {
  #timer = 0
  #window = null
  #thumbnails = []

  constructor(element, timeline, viewer) {
    Object.assign(this, { element, timeline, viewer })
    on(timeline, "window", (event) => { this.#window = event.detail })
    // The browser's own measurement of pictures.
    new PerformanceObserver((entries) => {
      for (const entry of entries.getEntries()) {
        if (entry.initiatorType !== "img" || !entry.name.includes("/image?")) continue
        // Frames of opportunistic responses are timed by the viewer.
        if (entry.name.includes("opportunistic") || entry.transferSize === 0) continue
        this.#thumbnails.push(entry.responseEnd - entry.startTime)
        if (this.#thumbnails.length > 200) this.#thumbnails.shift()
      }
    }).observe({ type: "resource" })
  }

  toggle() {
    const isShown = this.element.hidden
    this.element.hidden = !isShown
    clearInterval(this.#timer)
    if (isShown) {
      this.#update()
      this.#timer = setInterval(() => this.#update(), INTERVAL)
    }
    return isShown
  }

  async #update() {
    const metrics = await request("/metrics").then((response) => response.text()).then(parse).catch(() => new Map())
    const manager = await json(`/v1/cachingManagers/default?client=${this.timeline.constructor.client}`).catch(() => null)
    const sum = (name, label = "") => [...metrics].reduce((total, [key, value]) =>
      key.startsWith(name) && key.includes(label) ? total + value : total, 0)
    const frames = sum("photod_image_frames_total")
    const cached = sum("photod_image_frames_total", 'source="memory"') + sum("photod_image_frames_total", 'source="disk"')
    const prepared = sum("photod_http_prepared_responses_total")
    const median = (values) => values.length ? `${values.toSorted((a, b) => a - b)[values.length >> 1].toFixed(0)} ms` : "–"
    const rows = [
      ["panelCached", frames + prepared > 0 ? `${(100 * (cached + prepared) / (frames + prepared)).toFixed(0)} %` : "–"],
      ["panelThumbnail", median(this.#thumbnails)],
      ["panelDegraded", median(this.viewer.times.map(({ degraded }) => degraded).filter((time) => time !== null))],
      ["panelFinal", median(this.viewer.times.map(({ final }) => final).filter((time) => time !== null))],
      ["panelWindow", this.#window ? text("panelWindowOf", this.#window) : "–"],
      ["panelPrepared", manager ? `${manager.prepared}, ${manager.hitRate === null ? "–" : `${(manager.hitRate * 100).toFixed(0)} %`}` : "–"],
      ["panelMemory", metrics.size ? text("panelMemoryOf", {
        used: bytes(sum("photod_memory_in_use_bytes")), budget: bytes(sum("photod_memory_budget_bytes")) }) : "–"],
      ["panelFrames", metrics.size ? bytes(sum("photod_frame_cache_bytes")) : "–"],
      ["panelQueue", metrics.size ? String(sum("photod_render_queue_depth")) : "–"],
      ["panelResident", metrics.size ? bytes(sum("process_resident_memory_bytes")) : "–"],
    ]
    const list = make("dl")
    for (const [name, value] of rows) {
      list.append(
        make("dt", { textContent: text(name) }),
        make("dd", { textContent: value }))
    }
    this.element.replaceChildren(make("h2", { textContent: text("service") }), list)
  }
}

/// The lines of Prometheus' text format, by name with labels.
function parse(lines) {
  const values = new Map()
  for (const line of lines.split("\n")) {
    const space = line.lastIndexOf(" ")
    if (space > 0 && !line.startsWith("#")) values.set(line.slice(0, space), Number(line.slice(space + 1)))
  }
  return values
}
