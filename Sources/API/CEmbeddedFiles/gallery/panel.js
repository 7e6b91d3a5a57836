// The service panel: what the daemon does for this page, by /metrics, where the caller may read them, and the page's own
// preheat window.

import { client, json, request } from "./api.js"
import { $, make, on } from "./dom.js"
import { bytes, text } from "./strings.js"

const INTERVAL = 2000

const panel = $("panel")
let timer = 0

on(panel, "toggle", ({ newState }) => {
  clearInterval(timer)
  if (newState === "closed") return
  update()
  timer = setInterval(update, INTERVAL)
})

async function update() {
  const [metrics, manager] = await Promise.all([
    request("/metrics").then((response) => response.text()).catch(() => ""),
    json(`/v1/cachingManagers/default?client=${client}`).catch(() => null),
  ])
  // Lines of Prometheus' text format: a name with labels, and a value.
  const lines = metrics.split("\n")
  const sum = (name, label = "") => lines.filter((line) => line.startsWith(`photod_${name}`) && line.includes(label))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(" "))), 0)
  const percent = (share) => `${(100 * share).toFixed(0)} %`
  const frames = "image_frames_total", ready = sum("http_prepared_responses_total")
  const cached = (sum(frames, 'source="memory"') + sum(frames, 'source="disk"') + ready) / (sum(frames) + ready) || 0
  const figures = [
    ["window", manager?.window && text("panelWindowOf", manager.window)],
    ["panelPrepared", manager && `${manager.prepared}, ${manager.hitRate === null ? "–" : percent(manager.hitRate)}`],
    ...(metrics ? [
      ["fromCaches", percent(cached)],
      ["memoryInUse", `${bytes(sum("memory_in_use_bytes"))} / ${bytes(sum("memory_budget_bytes"))}`],
      ["waitingRenders", sum("render_queue_depth")],
    ] : []),
  ]
  panel.replaceChildren(make("h2", {}, text("service")), make("dl", {}, ...figures.map(([key, value]) =>
    make("div", {}, make("dt", {}, text(key)), make("dd", {}, value ?? "–")))))
}
