import Testing

@testable import LibraryImport

@Suite("Descriptions of a Google Takeout")
struct TakeoutSidecarTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let files: [String]
    let file: String
    let expected: String?
    var isShared = false
  }

  static let cases = [
    Case(testDescription: "the older suffix", files: ["a.jpg.json"], file: "a.jpg", expected: "a.jpg.json"),
    Case(
      testDescription: "the newer suffix", files: ["a.jpg.supplemental-metadata.json"], file: "a.jpg",
      expected: "a.jpg.supplemental-metadata.json"),
    Case(
      testDescription: "a cut suffix", files: ["PXL_20230101_101010101.jpg.supplemental-me.json"],
      file: "PXL_20230101_101010101.jpg", expected: "PXL_20230101_101010101.jpg.supplemental-me.json"),
    Case(testDescription: "a suffix of one dot", files: ["a.jpg..json"], file: "a.jpg", expected: "a.jpg..json"),
    Case(
      testDescription: "a cut name", files: ["abcdefghijklmnopqrstuvwxyz0123456789abcdefghij.json"],
      file: "abcdefghijklmnopqrstuvwxyz0123456789abcdefghij1.jpg",
      expected: "abcdefghijklmnopqrstuvwxyz0123456789abcdefghij.json"),
    Case(testDescription: "a short name is never cut", files: ["ab.json"], file: "abc.jpg", expected: nil),
    Case(
      testDescription: "an older counter", files: ["a.jpg.json", "a.jpg(1).json"], file: "a(1).jpg",
      expected: "a.jpg(1).json"),
    Case(
      testDescription: "a newer counter",
      files: ["a.jpg.supplemental-metadata.json", "a.jpg.supplemental-metadata(12).json"], file: "a(12).jpg",
      expected: "a.jpg.supplemental-metadata(12).json"),
    Case(
      testDescription: "a counter in the file's own name", files: ["a(1).jpg.json"], file: "a(1).jpg",
      expected: "a(1).jpg.json"),
    Case(testDescription: "no other file's counter", files: ["a.jpg.json"], file: "a(1).jpg", expected: nil),
    Case(
      testDescription: "an edited picture", files: ["a.jpg.json", "a.jpg"], file: "a-edited.jpg",
      expected: "a.jpg.json"),
    Case(
      testDescription: "an edited picture in German", files: ["a.jpg.supplemental-metadata.json"],
      file: "a-bearbeitet.jpg", expected: "a.jpg.supplemental-metadata.json"),
    Case(
      testDescription: "an edited picture with a counter", files: ["a.jpg(2).json"], file: "a-edited(2).jpg",
      expected: "a.jpg(2).json"),
    Case(
      testDescription: "an edited HEIC", files: ["a.heic", "a.heic.json"], file: "a-edited.jpg",
      expected: "a.heic.json"),
    Case(
      testDescription: "the video of a live photo", files: ["A.HEIC", "A.HEIC.json", "A.MP4"], file: "A.MP4",
      expected: "A.HEIC.json", isShared: true),
    Case(
      testDescription: "a video with its own description", files: ["A.HEIC", "A.HEIC.json", "A.MP4", "A.MP4.json"],
      file: "A.MP4", expected: "A.MP4.json"),
    Case(
      testDescription: "an edited picture in Catalan, in another's words", files: ["a.jpg", "a.jpg.json"],
      file: "a-ha editat.jpg", expected: "a.jpg.json"),
    Case(
      testDescription: "no edited picture but a number", files: ["a.jpg", "a.jpg.json"], file: "a-2.jpg", expected: nil),
    Case(
      testDescription: "the video of a Pixel", files: ["P.MP.jpg", "P.MP.jpg.json", "P.MP"], file: "P.MP",
      expected: "P.MP.jpg.json", isShared: true),
    Case(
      testDescription: "a second video of a Pixel", files: ["P.MP~2.jpg", "P.MP~2.jpg.json", "P.MP~2"], file: "P.MP~2",
      expected: "P.MP~2.jpg.json", isShared: true),
    Case(
      testDescription: "a name cut in UTF-16 units", files: [String(repeating: "😀", count: 23) + ".json"],
      file: String(repeating: "😀", count: 24) + ".jpg", expected: String(repeating: "😀", count: 23) + ".json"),
    Case(testDescription: "not another picture's", files: ["a.jpg", "a.jpg.json"], file: "a.png", expected: nil),
    Case(testDescription: "a title without an extension", files: ["a.json"], file: "a.jpg", expected: "a.json"),
    Case(
      testDescription: "a title without an extension, and the newer suffix", files: ["a.supplemental-metadata.json"],
      file: "a.jpg", expected: "a.supplemental-metadata.json"),
    Case(
      testDescription: "a title without an extension, and a cut suffix",
      files: ["abcdefghijklmnopqrstuvwxyz0123.supplemental-met.json"], file: "abcdefghijklmnopqrstuvwxyz0123.jpg",
      expected: "abcdefghijklmnopqrstuvwxyz0123.supplemental-met.json"),
    Case(
      testDescription: "a title without an extension, and a counter", files: ["a.json", "a(1).json"], file: "a(1).jpg",
      expected: "a(1).json"),
    Case(
      testDescription: "a title without an extension, and a newer counter",
      files: ["a.supplemental-metadata.json", "a.supplemental-metadata(1).json"], file: "a(1).jpg",
      expected: "a.supplemental-metadata(1).json"),
    Case(
      testDescription: "a title without an extension, and no other file's counter", files: ["a.json"],
      file: "a(1).jpg", expected: nil),
    Case(
      testDescription: "the video of a live photo whose title has no extension",
      files: ["L.heic", "L.mp4", "L.supplemental-metadata.json"], file: "L.mp4",
      expected: "L.supplemental-metadata.json", isShared: true),
    Case(
      testDescription: "the video of a live photo whose title has no extension, and a counter",
      files: ["L(1).heic", "L(1).mp4", "L.supplemental-metadata(1).json"], file: "L(1).mp4",
      expected: "L.supplemental-metadata(1).json", isShared: true),
    Case(
      testDescription: "a video whose title has no extension, without a picture", files: ["L.mp4", "L.json"],
      file: "L.mp4", expected: "L.json"),
    Case(
      testDescription: "an edited picture whose title has no extension", files: ["a.jpg", "a.json"],
      file: "a-edited.jpg", expected: "a.json"),
    Case(
      testDescription: "an edited HEIC whose title has no extension, and the newer suffix",
      files: ["a.heic", "a.supplemental-metadata.json"], file: "a-edited.jpg",
      expected: "a.supplemental-metadata.json"),
    Case(
      testDescription: "an edited picture whose title has no extension, and a counter",
      files: ["a.json", "a(1).jpg", "a(1).json"], file: "a-edited(1).jpg", expected: "a(1).json"),
    Case(
      testDescription: "a title with a hyphen and without an extension is not that of an edited picture",
      files: ["a.jpg", "a.jpg.json", "a-sea.json"], file: "a-sea.jpg", expected: "a-sea.json"),
    Case(testDescription: "another file's", files: ["b.jpg.json"], file: "a.jpg", expected: nil),
    Case(
      testDescription: "the video of a Pixel whose picture is missing", files: ["P.MP.jpg.supplemental-meta.json"],
      file: "P.MP", expected: "P.MP.jpg.supplemental-meta.json", isShared: true),
    Case(
      testDescription: "no edited picture but a short name with a hyphen", files: ["a.jpg", "a.jpg.json"],
      file: "a-.jpg", expected: nil),
    Case(testDescription: "another letter case", files: ["b.jpg.json"], file: "b.JPG", expected: "b.jpg.json"),
    Case(
      testDescription: "another letter case and a counter", files: ["B.jpg.supplemental-metadata(1).json"],
      file: "b(1).JPG", expected: "B.jpg.supplemental-metadata(1).json"),
    Case(
      testDescription: "not that of a picture that differs in letter case", files: ["b.jpg", "b.jpg.json", "b.JPG"],
      file: "b.JPG", expected: nil),
    Case(
      testDescription: "a decomposed name", files: ["\u{E9}.jpg.json"], file: "e\u{301}.jpg",
      expected: "\u{E9}.jpg.json"),
    Case(
      testDescription: "a description whose decomposed name is cut",
      files: [String(repeating: "e\u{301}", count: 23) + ".json"],
      file: String(repeating: "\u{E9}", count: 30) + ".jpg",
      expected: String(repeating: "\u{E9}", count: 23) + ".json"),
    Case(
      testDescription: "no counter but parentheses", files: ["a(b).jpg.json"], file: "a(b).jpg",
      expected: "a(b).jpg.json"),
  ]

  @Test("each picture finds its JSON file", arguments: cases)
  func found(_ example: Case) {
    let found = TakeoutSidecars(example.files).sidecar(of: example.file)
    #expect(found?.name == example.expected)
    if found != nil { #expect(found?.isShared == example.isShared) }
  }

  @Test("an edited picture of whose word only the hyphen is left finds the description of the original")
  func hyphen() {
    let stem = String(repeating: "x", count: 46)
    let sidecars = TakeoutSidecars(["\(stem).jpg", "\(stem)-.jpg", "\(stem).json"]) { _ in "\(stem).jpg" }
    #expect(sidecars.sidecar(of: "\(stem).jpg")?.name == "\(stem).json")
    #expect(sidecars.sidecar(of: "\(stem)-.jpg")?.name == "\(stem).json")
  }

  @Test("a long name without its extension is not taken for that of a longer title, which is cut")
  func longWithoutExtension() {
    let base = String(repeating: "x", count: 46)
    let cases: [(title: String, file: String, expected: String?)] = [
      ("\(base)b.png", "\(base).jpg", nil), (base, "\(base).jpg", "\(base).json"), (base, "\(base)b.png", nil),
    ]
    for (title, file, expected) in cases {
      let sidecars = TakeoutSidecars(["\(base).jpg", "\(base)b.png", "\(base).json"]) { _ in title }
      #expect(sidecars.sidecar(of: file)?.name == expected, "\(title)")
    }
  }

  @Test("titles tell apart pictures whose descriptions have the same cut name")
  func sameCut() {
    let base = String(repeating: "x", count: 46)
    let titles = ["\(base).json": "\(base)b long.jpg", "\(base)(1).json": "\(base)a long.jpg"]
    let sidecars = TakeoutSidecars(["\(base)a.jpg", "\(base)b.jpg", "\(base)c.jpg"] + titles.keys) { titles[$0] }
    #expect(sidecars.sidecar(of: "\(base)a.jpg")?.name == "\(base)(1).json")
    #expect(sidecars.sidecar(of: "\(base)b.jpg")?.name == "\(base).json")
    #expect(sidecars.sidecar(of: "\(base)c.jpg") == nil)
    let one = TakeoutSidecars(["\(base)a.jpg", "\(base)b.jpg", "\(base).json"]) { titles[$0] }
    #expect(one.sidecar(of: "\(base)a.jpg") == nil && one.sidecar(of: "\(base)b.jpg") != nil)
  }

  /// Pictures of cut names, with their descriptions in order; `x` stands for 46 characters.
  private static let equalTitles: [(titles: [String: String], expected: [String: String?])] = [
    // One name three times.
    (
      ["x.json": "xa long.jpg", "x(1).json": "xa long.jpg", "x(2).json": "xa long.jpg"],
      ["xa.jpg": "x.json", "xa(1).jpg": "x(1).json", "xa(2).jpg": "x(2).json"]
    ),
    // Titles that differ only where the names of the pictures are cut too.
    (
      ["x.json": "xa long.jpg", "x(1).json": "xa short.jpg"], ["xa.jpg": "x.json", "xa(1).jpg": "x(1).json"]
    ),
    // One title begins with another.
    (["x.json": "xab.jpg", "x(1).json": "xa.jpg"], ["xa.jpg": "x(1).json", "xab.jpg": "x.json"]),
    // Another title has one of the counters.
    (
      ["x.json": "xb.jpg", "x(1).json": "xa long.jpg", "x(2).json": "xa long.jpg"],
      ["xb.jpg": "x.json", "xa.jpg": "x(1).json", "xa(1).jpg": "x(2).json"]
    ),
    // One description is missing: no picture gets that of another.
    (
      ["x.json": "xa long.jpg", "x(2).json": "xa long.jpg"],
      ["xa.jpg": "x.json", "xa(1).jpg": nil, "xa(2).jpg": "x(2).json"]
    ),
  ]

  @Test(
    "counters tell apart pictures whose descriptions have the same cut name and title", arguments: equalTitles.indices)
  func sameTitle(_ index: Int) {
    let (titles, expected) = Self.equalTitles[index]
    func long(_ name: String) -> String { String(repeating: "x", count: 46) + name.dropFirst() }
    var longTitles: [String: String] = [:]
    for (name, title) in titles { longTitles[long(name)] = long(title) }
    let sidecars = TakeoutSidecars((Array(titles.keys) + Array(expected.keys)).map(long)) { [longTitles] in
      longTitles[$0]
    }
    for (picture, description) in expected {
      #expect(sidecars.sidecar(of: long(picture))?.name == description.map(long), "\(picture)")
    }
  }
}
