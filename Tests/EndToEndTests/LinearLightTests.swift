import Foundation
import PhotoFixtures
import Testing

@Suite("Linear light and 16 bits, over real sockets", .blocking)
struct LinearLightTests {
  /// Columns of black and white, 16 bits.
  private static let stripes = DeepPixels(width: 160, height: 120, channels: 3) { x, _, _ in x % 2 == 0 ? 0 : 65_535 }

  private static let shared: TestDaemon = {
    do {
      return try TestDaemon { files in
        try files.put(stripes.png(), "deep.png")
        try files.put(JPEGFile { _ in }.encoded(Scene(seed: 6).pixels(width: 400, height: 300)), "a.jpg")
      }
    } catch {
      fatalError("no daemon: \(error)")
    }
  }()

  private func image(_ name: String, _ query: String) throws -> TestDaemon.Response {
    try Self.shared.get("/v1/assets/\(try Self.shared.identifier(name))/image?\(query)")
  }

  /// The middle pixel's red of a PNG, 0...1, and the file's bits a channel.
  private func middle(_ answer: TestDaemon.Response) throws -> (value: Double, bits: Int) {
    let (pixels, bits) = try #require(DeepPixels.decoded(answer.body))
    return (Double(pixels.samples[(pixels.height / 2 * pixels.width + pixels.width / 2) * 3]) / 65_535, bits)
  }

  @Test("the parameters choose light and bits, each under a tag of its own")
  func parameters() throws {
    var tags: Set<String> = []
    for (query, value, bits) in [
      ("", 0.5, 8), ("&resample=encoded&bitDepth=8", 0.5, 8), ("&resample=linear", 0.7354, 8),
      ("&bitDepth=16", 0.5, 16), ("&resample=linear&bitDepth=16", 0.7354, 16),
    ] {
      let answer = try image("deep.png", "format=png&targetSize=40x40\(query)")
      #expect(answer.status == 200, "\(query)")
      let found = try middle(answer)
      #expect(found.bits == bits && abs(found.value - value) < 0.01, "\(query): \(found)")
      tags.insert(try #require(answer["ETag"]))
    }
    // The defaults are the same as no parameters.
    #expect(tags.count == 4)
  }

  @Test("a picture that is not scaled is the same in any light")
  func unscaled() throws {
    let tags = try ["", "&resample=linear"].map {
      try image("a.jpg", "format=jpeg&quality=80&targetSize=400x300\($0)")["ETag"]
    }
    #expect(tags[0] != nil && tags[0] == tags[1])
    let scaled = try ["", "&resample=linear"].map { try image("a.jpg", "targetSize=90x90\($0)")["ETag"] }
    #expect(scaled[0] != scaled[1])
  }

  @Test(
    "wrong values are 400",
    arguments: [
      "resample=gamma", "bitDepth=12&format=png", "bitDepth=16", "bitDepth=16&format=jpeg", "bitDepth=32&format=png",
    ])
  func wrong(_ query: String) throws {
    let answer = try image("deep.png", "targetSize=40x40&\(query)")
    let parameter = String(query.prefix { $0 != "=" })
    #expect(answer.status == 400 && answer.json["parameter"] as? String == parameter, "\(query)")
  }

  @Test("batches have the same parameters, and name the same frame")
  func batch() throws {
    let asset = try Self.shared.identifier("deep.png")
    let options = #""format": "png", "resample": "linear", "bitDepth": 16"#
    let body = #"{"assets": ["\#(asset)"], "targetSize": "40x40", \#(options)}"#
    let text = String(decoding: try Self.shared.post("/v1/images", body).body, as: Unicode.ASCII.self)
    #expect(text.contains("resample=linear") && text.contains("bitDepth=16"))
    let wrong = #"{"assets": ["\#(asset)"], "targetSize": "40x40", "bitDepth": 16}"#
    #expect(try Self.shared.post("/v1/images", wrong).status == 400)
  }
}
