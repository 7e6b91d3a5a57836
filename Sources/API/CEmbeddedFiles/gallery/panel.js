// The service panel: what the daemon does for this page, by /metrics, where the caller may read them, and the page's own
// preheat window.

import { client, json, request } from "./api.js"
import { $, make } from "./dom.js"
import { bytes, text } from "./strings.js"

const INTERVAL = 2000

const panel = $("panel")
let timer = 0
/// The last times until pictures were there, in milliseconds.
const times = { thumbnail: [], first: [], final: [] }

export function note(kind, time) {
  times[kind].push(time)
  if (times[kind].length > 200) times[kind].shift()
}

new PerformanceObserver((entries) => {
  for (const { name, initiatorType, transferSize, startTime, responseEnd } of entries.getEntries()) {
    if (initiatorType !== "img" || !name.includes("/image?") || transferSize === 0) continue
    note(name.includes("opportunistic") ? "final" : "thumbnail", responseEnd - startTime)
  }
}).observe({ type: "resource" })

/// Returns whether the panel is shown now.
export function toggle() {
  panel.hidden = !panel.hidden
  clearInterval(timer)
  if (panel.hidden) return false
  update()
  timer = setInterval(update, INTERVAL)
  return true
}

async function update() {
  const [metrics, manager] = await Promise.all([
    request("/metrics").then((response) => response.text()).then(parse).catch(() => null),
    json(`/v1/cachingManagers/default?client=${client}`).catch(() => null),
  ])
  const sum = (name, label = "") => (metrics ?? []).reduce((total, [key, value]) =>
    key.startsWith(`photod_${name}`) && key.includes(label) ? total + value : total, 0)
  const percent = (share) => `${(100 * share).toFixed(0)} %`
  const median = (values) => values.length > 0 && `${values.toSorted((a, b) => a - b)[values.length >> 1].toFixed(0)} ms`
  const frames = "image_frames_total", ready = sum("http_prepared_responses_total")
  const cached = (sum(frames, 'source="memory"') + sum(frames, 'source="disk"') + ready) / (sum(frames) + ready) || 0
  const used = sum("memory_in_use_bytes"), budget = sum("memory_budget_bytes")
  // Names, figures, and shares of 1 that are drawn as bars.
  const figures = [
    ["panelThumbnail", median(times.thumbnail)], ["panelFirst", median(times.first)], ["panelFinal", median(times.final)],
    ["panelWindow", manager?.window && text("panelWindowOf", manager.window)],
    ["panelPrepared", manager && `${manager.prepared}, ${manager.hitRate === null ? "–" : percent(manager.hitRate)}`],
    ...(metrics ? [
      ["panelCached", percent(cached), cached],
      ["panelMemory", text("panelMemoryOf", { used: bytes(used), budget: bytes(budget) }), used / budget],
      ["panelFrames", bytes(sum("frame_cache_bytes"))], ["panelQueue", sum("render_queue_depth")],
      ["panelResident", bytes(Object.fromEntries(metrics).process_resident_memory_bytes)],
    ] : []),
  ]
  panel.replaceChildren(make("h2", {}, text("service")), make("dl", {}, ...figures.map(([key, value, share]) => make("div", {},
    make("dt", {}, text(key)),
    make("dd", {}, value || value === 0 ? value : "–", ...(share >= 0 ? [make("meter", { value: share, ariaLabel: text(key) })] : []))))))
}

/// The lines of Prometheus' text format: names with labels, and values.
const parse = (lines) => lines.split("\n").filter((line) => line && !line.startsWith("#")).map((line) => {
  const space = line.lastIndexOf(" ")
  return [line.slice(0, space), Number(line.slice(space + 1))]
})
