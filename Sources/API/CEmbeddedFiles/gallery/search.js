// The search field: its words, and their completion.

import { visit } from "./address.js"
import { json, query } from "./api.js"
import { $, all, button, make, on, page } from "./dom.js"
import { text } from "./strings.js"
import * as timeline from "./timeline.js"

const KEYWORDS = `
  addedDate cameraMake cameraModel caption creationDate duration fileSize isAnimated isFavorite isHidden
  isLongExposure isRAW isSelfPortrait keywords latitude lensModel longitude mediaSubtypes mediaType modificationDate
  originalFilename pixelHeight pixelWidth rating relativePath title AND BEGINSWITH[cd] BETWEEN CONTAINS[cd]
  ENDSWITH[cd] LIKE[cd] NOT photoDepthEffect photoHDR photoLive photoPanorama photoScreenshot
`.match(/\S+/g)
const SHOWN = 8
/// Milliseconds.
const PAUSE = 120

const form = $("search"), list = $("words"), { search: input } = form.elements
/// A promise of the places of moments, a list that grows.
let places, timer

const forget = () => { places = null }
on(page, "collections", forget)
on(form, "submit", submit)
on(input, "input", () => {
  if (input.value === "") submit()
  suggestSoon()
})
on(form, "focusout", ({ relatedTarget }) => form.contains(relatedTarget) || showOptions())
on(form, "keydown", key)
// Not all browsers focus buttons.
on(list, "pointerdown", (event) => event.preventDefault())

/// What looks like a predicate outside quotes is one.
export const sourceOf = (words) =>
  /[=<>]|\b(BEGINSWITH|CONTAINS|ENDSWITH|LIKE|IN|BETWEEN)\b/.test(words?.replace(/["“”„].*?["“”„]/g, ""))
    ? { predicate: words } : { search: words }

export function showWords(words = "") {
  input.value = words
  showOptions()
}

export const searchFor = (search) => visit({ search, asset: null })
/// Quotes would end it.
const phrase = (words) => `"${words.replace(/["“”„]/g, " ")}"`
export const searchForWord = (word) => searchFor(phrase(word))

function submit(event) {
  event?.preventDefault()
  showOptions()
  searchFor(input.value.trim())
}

function suggestSoon() {
  clearTimeout(timer)
  timer = setTimeout(suggest, PAUSE)
}

async function suggest() {
  const mine = timer, found = await completions(input.value)
  if (timer !== mine || document.activeElement !== input) return
  showOptions(found)
  timer = mine
}

async function completions(value) {
  const search = value.match(/[\p{L}\p{N}]{2,}$/u)?.[0]
  if (!search) return []
  const [{ assets }, named] = await Promise.all([
    json(`/v1/assets?${query({ search, fields: "people,keywords", sortDescriptors: "relevance", limit: 100 })}`).catch(() => ({ assets: [] })),
    places ??= placeNames().catch(() => forget() ?? []),
  ])
  const of = (key) => assets.flatMap((asset) => asset[key])
  return Object.entries({ people: of("people"), places: named, keywords: of("keywords"), predicate: KEYWORDS })
    .flatMap(([kind, names]) => [...new Set(names)].map((name) => ({ name, kind, start: startOf(value, name) })))
    .filter(({ start }) => start >= 0).slice(0, SHOWN)
}

/// Where the words of `value` begin that `name` completes, or -1.
function startOf(value, name) {
  // Without case and accents, as the daemon compares.
  const folded = (words) => ` ${words.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()}`
  const words = value.matchAll(/(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu)
  return words.find(({ index }) => value[index + 1] && folded(name).includes(folded(value.slice(index))))?.index ?? -1
}

async function placeNames(path = "/v1/collections?type=moment&limit=1000", names = []) {
  const { collections, next } = await json(path)
  names.push(...collections.flatMap(({ title }) => title?.split(/, | & /) ?? []))
  if (next) placeNames(next, names).then(() => timer && suggest(), forget)
  return names
}

function showOptions(found = []) {
  timer = clearTimeout(timer)
  list.hidden = found.length === 0
  list.replaceChildren(...found.map((option) =>
    make("li", {}, button([option.name, make("small", {}, text(option.kind))], () => choose(option)))))
}

function choose({ name, kind, start }) {
  const words = input.value.slice(0, start), before = words.replace(/["“”„]$/, "")
  input.value = before + (before !== words || kind !== "predicate" ? phrase(name) : name)
  input.focus()
  if (kind !== "predicate") return submit()
  input.value += " "
  showOptions()
}

function key(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step) {
    const stops = [input, ...all("#words button")]
    stops.at((stops.indexOf(document.activeElement) + step) % stops.length).focus()
  } else if (event.key !== "Escape") return
  else if (!list.hidden) {
    input.focus()
    showOptions()
  } else {
    searchFor("")
    timeline.focus(0, false)
  }
  event.preventDefault()
}
