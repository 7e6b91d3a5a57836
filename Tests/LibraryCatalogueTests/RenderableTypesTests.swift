import ImageCodec
import LibraryCatalogue
import LibraryFixtures
import PhotoFixtures
import PhotoModel
import Testing

/// Only the daemon knows which formats can be decoded; other commands use the types that it recorded.
@Suite("Formats with a decoder")
struct RenderableTypesTests {
  @Test("new assets and later openings use the types that were recorded last")
  func recorded() throws {
    let library = try TemporaryLibrary()
    let picture = CodedSamples.LosslessPicture(width: 20, height: 10)
    func isRenderable(_ catalogue: Catalogue) throws -> [Bool] {
      let page = try catalogue.assets(AssetFetch(), FetchPageRequest(limit: 10), for: .local)
      return page.assets.sorted { $0.original.displayName < $1.original.displayName }.map(\.isRenderable)
    }
    try library.put(smallJPEG, "a.jpg")
    try library.put(picture.file, "b.webp")
    // Without recorded types: only the formats that need no decoder process.
    do {
      let catalogue = try Catalogue(dataFolder: library.data)
      try library.scan(catalogue)
      #expect(try isRenderable(catalogue) == [true, false])
    }
    // The daemon has the decoder.
    let types = MediaFormat.renderableTypes(with: [.webp])
    do {
      let catalogue = try Catalogue(dataFolder: library.data, renderableTypes: types)
      #expect(try isRenderable(catalogue) == [true, true])
    }
    let catalogue = try Catalogue(dataFolder: library.data)
    try library.put(CodedSamples.LosslessPicture(width: 30, height: 10).file, "c.webp")
    try library.put(CodedSamples.heic(), "d.heic")
    try library.scan(catalogue)
    #expect(try isRenderable(catalogue) == [true, true, true, false])
  }

  @Test("decoders that run in processes of their own count only if they are there")
  func types() {
    let raw = Set(MediaFormat.allCases.filter(\.isRAW).map(\.uniformTypeIdentifier))
    #expect(raw.count == 9)
    let inProcess = raw.union(["public.jpeg", "public.png", "com.compuserve.gif", "com.microsoft.bmp", "public.tiff"])
    #expect(MediaFormat.renderableTypes(with: []) == inProcess)
    #expect(
      MediaFormat.renderableTypes(with: [.heic, .avif, .webp, .jxl])
        == inProcess.union([
          "public.heic", "public.avif", "org.webmproject.webp", "public.jpeg-xl", "com.apple.quicktime-movie",
          "public.mpeg-4",
        ]))
    // Only a video's header shows whether the decoder supports its codec.
    #expect(
      MediaFormat.renderableTypes(with: [.video]) == inProcess.union(["com.apple.quicktime-movie", "public.mpeg-4"]))
  }

  @Test(
    "with the decoder of sensor data, RAW files without a preview can be rendered after the next scan, and without it no longer"
  )
  func sensorData() throws {
    let library = try TemporaryLibrary()
    let preview = JPEGFile { _ in }.encoded(Pixels(width: 96, height: 64, channels: 3))
    try library.put(RAWSamples.file("nef", .init(), previews: [preview]), "a.nef")
    try library.put(RAWSamples.file("nef", .init(), previews: []), "b.nef")
    #expect(MediaFormat.renderableTypes(with: [.raw]).contains("public.camera-raw-image"))
    for isThere in [false, true, true, false] {
      let types = MediaFormat.renderableTypes(with: isThere ? [.raw] : [])
      let catalogue = try Catalogue(dataFolder: library.data, renderableTypes: types)
      try library.scan(catalogue)
      let assets = try catalogue.everything()
      #expect(assets["a.nef"]?.isRenderable == true && assets["b.nef"]?.isRenderable == isThere)
    }
  }

  @Test("a RAW file without a preview can't be rendered, and a new decoder of another type does not change that")
  func withoutPreview() throws {
    let library = try TemporaryLibrary()
    let preview = JPEGFile { _ in }.encoded(Pixels(width: 96, height: 64, channels: 3))
    try library.put(RAWSamples.file("nef", .init(), previews: [preview]), "a.nef")
    try library.put(RAWSamples.file("nef", .init(), previews: []), "b.nef")
    for types in [MediaFormat.renderableTypes(with: []), MediaFormat.renderableTypes(with: [.heic])] {
      let catalogue = try Catalogue(dataFolder: library.data, renderableTypes: types)
      try library.scan(catalogue)
      let assets = try catalogue.everything()
      #expect(assets["a.nef"]?.isRenderable == true && assets["b.nef"]?.isRenderable == false)
      #expect(assets["a.nef"]?.hasDecoder == true && assets["b.nef"]?.hasDecoder == false)
    }
  }
}
