// The service panel: /metrics if the caller may read them, the preheat window, times of frames.

import { client, json, request } from "./api.js"
import { $, make, on } from "./dom.js"
import { bytes, text } from "./strings.js"

const panel = $("panel")
let timer
/// Of the viewer's last frames, in milliseconds.
const times = { untilTheDegradedFrame: [], untilTheFinalFrame: [] }
const note = (key, time) => { times[key] = [time, ...times[key]].slice(0, 200) }

/// From the first frame on. The final one has no event: it is larger, or fills the screen.
export function measure(image, began) {
  const { naturalWidth: first } = image, time = performance.now() - began
  const look = () => {
    if (!image.isConnected) return
    const hasGrown = image.naturalWidth > first
    if (hasGrown) note("untilTheDegradedFrame", time)
    if (hasGrown || first >= (image.clientWidth - 1) * devicePixelRatio) note("untilTheFinalFrame", performance.now() - began)
    else requestAnimationFrame(look)
  }
  look()
}

on(panel, "toggle", ({ newState }) => {
  clearInterval(timer)
  if (newState === "closed") return
  update()
  timer = setInterval(update, 2000)
})

async function update() {
  const [metrics, manager] = await Promise.all([
    request("/metrics").then((answer) => answer.text()).catch(() => ""),
    json(`/v1/cachingManagers/default?client=${client}`).catch(() => null),
  ])
  // Lines of Prometheus: a name with labels, and a value.
  const lines = metrics.replaceAll("photod_", "").split("\n")
  const sum = (name, label = "") => lines.filter((line) => line.startsWith(name) && line.includes(label))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" "))), 0)
  const percent = (share) => `${(100 * share).toFixed(0)} %`
  const frames = "image_frames_total", ready = sum("http_prepared_responses_total")
  const cached = (sum(frames, 'source="memory"') + sum(frames, 'source="disk"') + ready) / (sum(frames) + ready) || 0
  const figures = [
    ...Object.entries(times).map(([key, found]) => [key, found[0] && `${found.toSorted((a, b) => a - b)[found.length >> 1].toFixed(0)} ms`]),
    ["window", manager?.window && text("panelWindowOf", manager.window)],
    ["panelPrepared", manager && `${manager.prepared}, ${manager.hitRate === null ? "–" : percent(manager.hitRate)}`],
    ...(metrics ? [
      ["fromCaches", percent(cached)],
      ["memoryInUse", `${bytes(sum("memory_in_use_bytes"))} / ${bytes(sum("memory_budget_bytes"))}`],
      ["frameCache", bytes(sum("frame_cache_bytes"))],
      ["residentMemory", bytes(sum("process_resident_memory_bytes"))],
      ["waitingRenders", sum("render_queue_depth")],
    ] : []),
  ]
  panel.replaceChildren(make("h2", {}, text("service")), make("dl", {}, ...figures.map(([key, value]) =>
    make("div", {}, make("dt", {}, text(key)), make("dd", {}, value ?? "–")))))
}
