// The service panel: what the daemon does for this page. PhotoKit's StarGallery had one; this one reads /metrics, where
// the caller may, and the page's own preheat window.

import { json, request } from "/gallery/api.js"
import { bytes, text } from "/gallery/strings.js"

const INTERVAL = 2000

export class Panel {
  #timer = 0
  #window = null
  #times = { degraded: [], final: [] }

  constructor(element, timeline) {
    Object.assign(this, { element, timeline })
    timeline.addEventListener("window", (event) => { this.#window = event.detail })
    // The browser's own measurement of pictures.
    new PerformanceObserver((entries) => {
      for (const entry of entries.getEntries()) {
        if (entry.initiatorType !== "img" || !entry.name.includes("/image?")) continue
        this.#note("degraded", entry.responseStart - entry.startTime)
        this.#note("final", entry.responseEnd - entry.startTime)
      }
    }).observe({ type: "resource" })
  }

  #note(kind, milliseconds) {
    this.#times[kind].push(milliseconds)
    if (this.#times[kind].length > 200) this.#times[kind].shift()
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
      ["Cached", frames + prepared > 0 ? `${(100 * (cached + prepared) / (frames + prepared)).toFixed(0)} %` : "–"],
      ["First byte", median(this.#times.degraded)], ["Final", median(this.#times.final)],
      ["Window", this.#window ? `${this.#window.start}–${this.#window.end}, ${this.#window.ready} ready, ${this.#window.pending} pending` : "–"],
      ["Prepared, used", manager ? `${manager.prepared}, ${manager.hitRate === null ? "–" : `${(manager.hitRate * 100).toFixed(0)} %`}` : "–"],
      ["Memory", metrics.size ? `${bytes(sum("photod_memory_in_use_bytes"))} of ${bytes(sum("photod_memory_budget_bytes"))}` : "–"],
      ["Frame cache", metrics.size ? bytes(sum("photod_frame_cache_bytes")) : "–"],
      ["Queue", metrics.size ? String(sum("photod_render_queue_depth")) : "–"],
      ["Resident", metrics.size ? bytes(sum("process_resident_memory_bytes")) : "–"],
    ]
    const list = document.createElement("dl")
    for (const [name, value] of rows) {
      list.append(
        Object.assign(document.createElement("dt"), { textContent: name }),
        Object.assign(document.createElement("dd"), { textContent: value }))
    }
    this.element.replaceChildren(Object.assign(document.createElement("h2"), { textContent: text("service") }), list)
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
