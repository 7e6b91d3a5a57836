import Foundation
import PhotoFixtures
import Testing

@Suite("Animations over real sockets", .blocking, .enabled(if: EncodedFormatTests.isBuilt))
struct AnimationTests {
  private static let size = (width: 64, height: 48)
  private static let colors: [[UInt8]] = [[200, 30, 30], [40, 180, 60], [30, 60, 200], [230, 220, 40]]
  private static let milliseconds = [200, 70, 100, 50]

  /// Four frames with every disposal: the place, the index of the colour at a point of the place (`nil`: transparent).
  private static let frames:
    [(x: Int, y: Int, width: Int, height: Int, disposal: Int, index: @Sendable (Int, Int) -> Int?)] = [
      (0, 0, 64, 48, 0, { _, _ in 0 }), (16, 8, 24, 16, 2, { _, _ in 1 }), (0, 0, 16, 8, 3, { _, _ in 2 }),
      (32, 0, 16, 16, 1, { x, _ in x < 8 ? 3 : nil }),
    ]

  /// What is shown, as RGBA: painted here, without photod's code.
  private static let shown: [Pixels] = {
    var canvas = Pixels(width: size.width, height: size.height, channels: 4)
    return frames.map { frame in
      let before = canvas
      for y in 0..<frame.height {
        for x in 0..<frame.width {
          guard let index = frame.index(x, y) else { continue }
          let at = ((frame.y + y) * size.width + frame.x + x) * 4
          canvas.bytes.replaceSubrange(at..<at + 4, with: colors[index] + [255])
        }
      }
      let result = canvas
      if frame.disposal == 3 { canvas = before }
      if frame.disposal == 2 {
        for y in frame.y..<frame.y + frame.height {
          let at = (y * size.width + frame.x) * 4
          canvas.bytes.replaceSubrange(at..<at + frame.width * 4, with: [UInt8](repeating: 0, count: frame.width * 4))
        }
      }
      return result
    }
  }()

  private static let gif: [UInt8] = {
    var file = Array("GIF89a".utf8) + [64, 0, 48, 0, 0, 0, 0]
    file += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, 2, 0, 0]
    for (frame, milliseconds) in zip(frames, [200, 70, 10, 50]) {
      let indexes = (0..<frame.width * frame.height).map { UInt8(frame.index($0 % frame.width, $0 / frame.width) ?? 4) }
      let picture = CodedGIFFile(width: frame.width, height: frame.height, indexes: indexes) {
        $0.origin = (frame.x, frame.y)
        $0.indexBits = 3
        $0.localColors = colors + Array(repeating: [0, 0, 0], count: 4)
        $0.isInterlaced = frame.disposal == 2
      }
      file += [0x21, 0xF9, 4, UInt8(frame.disposal << 2 | 1), UInt8(milliseconds / 10), 0, 4, 0]
      file += picture.bytes.dropFirst(13).dropLast()
    }
    return file + [0x3B]
  }()

  private static let png: [UInt8] = apng(.rgba(depth: 8))

  /// - Parameter chunks: complete chunks after IHDR.
  private static func apng(_ kind: PNGFile.Kind, chunks: [UInt8] = []) -> [UInt8] {
    func number(_ value: Int, _ bytes: Int = 4) -> [UInt8] { Boxes.number(value, bytes) }
    func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
      var sum = ~UInt32(0)
      for byte in Array(type.utf8) + content {
        sum ^= UInt32(byte)
        for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0xEDB8_8320 : 0) }
      }
      return number(content.count) + Array(type.utf8) + content + number(Int(~sum))
    }
    var (file, sequence) = ([UInt8](), 0)
    for (i, frame) in frames.enumerated() {
      var pixels = Pixels(width: frame.width, height: frame.height, channels: 4)
      for p in 0..<frame.width * frame.height {
        guard let index = frame.index(p % frame.width, p / frame.width) else { continue }
        pixels.bytes.replaceSubrange(p * 4..<p * 4 + 4, with: colors[index] + [255])
      }
      let picture = PNGFile(kind).encoded(pixels)
      if i == 0 {
        // Signature and IHDR.
        file = Array(picture.prefix(33)) + chunks + chunk("acTL", number(frames.count) + number(3))
      }
      let disposal = [0, 0, 1, 2][frame.disposal]
      file += chunk(
        "fcTL",
        number(sequence) + number(frame.width) + number(frame.height) + number(frame.x) + number(frame.y)
          + number(milliseconds[i], 2) + number(1000, 2) + [UInt8(disposal), 1])
      sequence += 1
      var position = 33
      while position + 12 <= picture.count {
        let length = picture[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
        let content = Array(picture[position + 8..<position + 8 + length])
        if picture[position + 4..<position + 8].elementsEqual("IDAT".utf8) {
          file += i == 0 ? chunk("IDAT", content) : chunk("fdAT", number(sequence) + content)
          if i > 0 { sequence += 1 }
        }
        position += length + 12
      }
    }
    return file + chunk("IEND", [])
  }

  /// An animated WebP, taken apart: each frame as a file of its own.
  private struct TakenApart {
    var size = (width: 0, height: 0)
    var plays = -1
    var frames: [(x: Int, y: Int, milliseconds: Int, file: [UInt8])] = []

    init(_ file: [UInt8]) throws {
      func little(_ at: Int, _ bytes: Int) -> Int { (0..<bytes).reduce(0) { $0 | Int(file[at + $1]) << (8 * $1) } }
      try #require(file.count > 30 && file.starts(with: "RIFF".utf8) && little(4, 4) + 8 == file.count)
      var position = 12
      while position + 8 <= file.count {
        let (length, start) = (little(position + 4, 4), position + 8)
        switch String(decoding: file[position..<position + 4], as: UTF8.self) {
        case "VP8X": size = (little(start + 4, 3) + 1, little(start + 7, 3) + 1)
        case "ANIM": plays = little(start + 4, 2)
        case "ANMF":
          let chunks = Array(file[start + 16..<start + length])
          let sides = file[start + 6..<start + 12]
          let hasAlpha = chunks.starts(with: "ALPH".utf8)
          let head = hasAlpha ? Array("VP8X".utf8) + [10, 0, 0, 0, 0x10, 0, 0, 0] + sides : []
          let count = 4 + head.count + chunks.count
          let riff = Array("RIFF".utf8) + Boxes.number(count, 4).reversed() + Array("WEBP".utf8) + head + chunks
          frames.append((little(start, 3) * 2, little(start + 3, 3) * 2, little(start + 12, 3), riff))
        default: break
        }
        position = start + length + length % 2
      }
    }
  }

  private func image(_ daemon: TestDaemon, _ name: String, _ query: String) throws -> TestDaemon.Response {
    try daemon.get("/v1/assets/\(try daemon.identifier(name))/image?\(query)")
  }

  /// Compares what an animation shows with pictures.
  private func expect(_ bytes: [UInt8], shows expected: [Pixels], _ name: String, within limit: Double = 5) throws {
    let animation = try TakenApart(bytes)
    #expect(animation.plays == 3, "\(name)")
    #expect(animation.frames.map(\.milliseconds) == Self.milliseconds, "\(name)")
    let decoder = try TestDaemon { files in
      for (i, frame) in animation.frames.enumerated() { try files.put(frame.file, "\(i).webp") }
    }
    var canvas = Pixels(width: animation.size.width, height: animation.size.height, channels: 4)
    for (i, frame) in animation.frames.enumerated() {
      let answer = try image(decoder, "\(i).webp", "format=png&targetSize=max")
      let part = try #require(Pixels.decoded(answer.body)).pixels
      for y in 0..<part.height {
        let at = ((frame.y + y) * canvas.width + frame.x) * 4
        canvas.bytes.replaceSubrange(
          at..<at + part.width * 4, with: part.bytes[y * part.width * 4..<(y + 1) * part.width * 4])
      }
      // Colours of transparent pixels mean nothing.
      func visible(_ pixels: Pixels) -> Pixels {
        var pixels = pixels
        for p in stride(from: 0, to: pixels.bytes.count, by: 4) where pixels.bytes[p + 3] == 0 {
          pixels.bytes.replaceSubrange(p..<p + 3, with: [0, 0, 0])
        }
        return pixels
      }
      let difference = try #require(visible(canvas).meanDifference(from: visible(expected[i])), "\(name) \(i)")
      #expect(difference < limit, "\(name), frame \(i)")
    }
  }

  @Test("every frame of a GIF, an APNG and a WebP is shown as players show it, at the size that is asked for")
  func frames() throws {
    let daemon = try TestDaemon { files in
      try files.put(Self.gif, "a.gif")
      try files.put(Self.png, "b.png")
      try files.put(Self.gif.replacing(Array("NETSCAPE2.0".utf8), with: Array("ANIMEXTS1.0".utf8)), "d.gif")
    }
    var first: [UInt8] = []
    for name in ["a.gif", "b.png", "d.gif"] {
      let whole = try image(daemon, name, "animated=true&quality=95")
      #expect(whole.status == 200 && whole["Content-Type"] == "image/webp", "\(name)")
      try expect(whole.body, shows: Self.shown, name)
      first = whole.body
      let half = try image(daemon, name, "animated=true&quality=95&targetSize=32x32")
      #expect(half.result("width") == "32" && half.result("height") == "24")
      try expect(
        half.body, shows: Self.shown.map { $0.averaged(width: 32, height: 24) }, "\(name), half",
        // Most pixels are at an edge.
        within: 8)
    }
    // What photod has written is an animation that it reads.
    let again = try TestDaemon { try $0.put(first, "c.webp") }
    try expect(
      try image(again, "c.webp", "animated=true&format=webp&quality=95").body, shows: Self.shown, "c.webp")
  }

  @Test("frames of gray are converted from their profile to sRGB, whatever colours are asked for")
  func gray() throws {
    // A profile of linear light. The gray of a fixture is the green of its pixels.
    let profile = Array("a\0\0".utf8) + PNGChunks.stored(ICCFile.gray(exponent: 1))
    let file = Self.apng(.grayAlpha(depth: 8), chunks: PNGChunks.chunk("iCCP", profile))
    let daemon = try TestDaemon { try $0.put(file, "a.png") }
    let expected = Self.shown.map { picture -> Pixels in
      var picture = picture
      for i in stride(from: 0, to: picture.bytes.count, by: 4) {
        let light = Double(picture.bytes[i + 1]) / 255
        let sample = light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
        let gray = UInt8((sample * 255).rounded())
        picture.bytes.replaceSubrange(i..<i + 3, with: [gray, gray, gray])
      }
      return picture
    }
    for colorSpace in ["preserve", "srgb"] {
      let answer = try image(daemon, "a.png", "animated=true&quality=95&colorSpace=\(colorSpace)")
      try expect(answer.body, shows: expected, colorSpace)
    }
  }

  @Test("by default an animation is its first frame, under another tag")
  func still() throws {
    let daemon = try TestDaemon { files in
      try files.put(Self.gif, "a.gif")
      try files.put(JPEGFile { _ in }.encoded(Self.shown[0].channels(3)), "still.jpg")
    }
    let moving = try image(daemon, "a.gif", "animated=true")
    let path = "/v1/assets/\(try daemon.identifier("a.gif"))/image?animated=true"
    for accept in ["image/png", "image/webp;q=0, */*"] {
      let refused = try daemon.get(path, ["Accept: \(accept)"])
      #expect(refused.status == 200 && refused["Content-Type"] == "image/png", "\(accept): \(refused.status)")
    }
    let still = try image(daemon, "a.gif", "format=webp")
    #expect(try TakenApart(moving.body).frames.count == 4 && still.body.count < moving.body.count)
    #expect(moving["ETag"] != still["ETag"] && moving["ETag"] != nil)
    #expect(try image(daemon, "a.gif", "animated=true").result("source") == "memory")
    #expect(try image(daemon, "still.jpg", "animated=true")["Content-Type"] == "image/jpeg")
    for format in ["jpeg", "png", "avif", "jxl"] {
      let answer = try image(daemon, "a.gif", "animated=true&format=\(format)")
      #expect(answer.status == 400 && answer.json["parameter"] as? String == "animated")
    }
  }

  @Test("with animated, a window prepares animations, and of other pictures the frames that requests get")
  func prepared() throws {
    let daemon = try TestDaemon { files in
      try files.put(Self.gif, "a.gif")
      try files.put(JPEGFile { _ in }.encoded(Self.shown[0].channels(3)), "still.jpg")
    }
    let names = ["a.gif", "still.jpg"]
    let assets = CachingTests.list(try names.map { try daemon.identifier($0) })
    let body = #"{"assets": \#(assets), "visible": [0, 1], "targetSize": "32x32", "options": {"animated": true}}"#
    #expect(try daemon.post("/v1/cachingManagers/default/window", body, method: "PUT").status == 200)
    #expect(try CachingTests.settled("default", daemon)["prepared"] as? Int == 2)
    for name in names {
      let answer = try image(daemon, name, "animated=true&targetSize=32x32")
      #expect(answer["Content-Type"] == (name == "a.gif" ? "image/webp" : "image/jpeg"))
      #expect(answer.result("source") == "memory", "\(name)")
    }
    #expect(try CachingTests.settled("default", daemon)["used"] as? Int == 2)
  }

  @Test("a client that accepts only multipart types gets animations in its parts, one that refuses WebP still pictures")
  func parts() throws {
    let daemon = try TestDaemon { try $0.put(Self.gif, "a.gif") }
    let identifier = try daemon.identifier("a.gif")
    let batch = #"{"assets": ["\#(identifier)"], "targetSize": "32x32", "animated": true}"#
    let image = "/v1/assets/\(identifier)/image?targetSize=32x32&animated=true&deliveryMode=opportunistic"
    for (accept, type) in [
      ("multipart/mixed", "image/webp"), ("multipart/*", "image/webp"), ("multipart/mixed, image/webp", "image/webp"),
      ("multipart/mixed, image/png", "image/png"), ("multipart/mixed, image/webp;q=0, */*", "image/png"),
    ] {
      let part = try Multipart(daemon.post("/v1/images", batch, ["Accept: \(accept)"])).parts.last
      #expect(part?.fields["content-type"] == type, "\(accept), in a batch")
      let last = try Multipart(daemon.get(image, ["Accept: \(accept)"])).parts.last
      #expect(last?.fields["content-type"] == type, "\(accept), as the last of several frames")
    }
  }

  @Test("without the WebP encoder, requests, batches and windows have the first frame")
  func withoutEncoder() throws {
    let daemon = try TestDaemon(
      { files in
        try files.put(Self.gif, "a.gif")
        try files.put(Self.png, "b.png")
      }, arguments: ["--set", "decoders.folder=/nonexistent"])
    let identifiers = try ["a.gif", "b.png"].map { try daemon.identifier($0) }
    let assets = CachingTests.list(identifiers)
    let window = #"{"assets": \#(assets), "visible": [0, 1], "targetSize": "32x32", "options": {"animated": true}}"#
    #expect(try daemon.post("/v1/cachingManagers/default/window", window, method: "PUT").status == 200)
    #expect(try CachingTests.settled("default", daemon)["prepared"] as? Int == 2)
    for identifier in identifiers {
      let path = "/v1/assets/\(identifier)/image?targetSize=32x32"
      let still = try daemon.get(path)
      #expect(still.result("source") == "memory", "the window prepares the first frame")
      for accept in ["*/*", "image/webp,image/*,*/*;q=0.8"] {
        let answer = try daemon.get(path + "&animated=true", ["Accept: \(accept)"])
        #expect(answer.status == 200 && answer["Content-Type"] == "image/png", "\(accept): \(answer.status)")
        #expect(answer["ETag"] == still["ETag"] && answer.body == still.body, "\(accept)")
      }
    }
    let batch = try daemon.post(
      "/v1/images", #"{"assets": \#(assets), "targetSize": "32x32", "animated": true}"#)
    #expect(try Multipart(batch).parts.map { $0.fields["content-type"] } == ["image/png", "image/png"])
    let named = try daemon.get("/v1/assets/\(identifiers[0])/image?animated=true&format=webp")
    #expect(named.status == 415 && named.json["type"] as? String == "/problems/encoder-unavailable")
  }

  @Test("crops, turns and flips of an edit apply to every frame; other operations show the first frame")
  func adjusted() throws {
    let daemon = try TestDaemon { files in
      try files.put(Self.gif, "a.gif")
      try files.put(Self.png, "b.png")
    }
    func adjust(_ name: String, _ operations: String) throws {
      let path = "/v1/assets/\(try daemon.identifier(name))/adjustments"
      #expect(try daemon.post(path, #"{"operations": [\#(operations)]}"#, method: "PUT").status == 200, "\(name)")
    }
    // All that moves is in the crop. A clockwise turn and a flip exchange columns and rows.
    let moves =
      #"{"type": "crop", "rect": [0.125, 0, 0.75, 0.5]}, {"type": "rotate", "quarterTurns": 1}"#
      + #", {"type": "flip", "axis": "horizontal"}"#
    let expected = Self.shown.map { $0.mapped(width: 24, height: 48) { x, y in (8 + y, x) } }
    for name in ["a.gif", "b.png"] {
      try adjust(name, moves)
      let moving = try image(daemon, name, "animated=true&quality=95")
      #expect(moving.result("width") == "24" && moving.result("height") == "48", "\(name)")
      try expect(moving.body, shows: expected, "\(name), adjusted", within: 8)
      // The size rules apply to the adjusted picture.
      let small = try image(daemon, name, "animated=true&targetSize=24x24")
      #expect(small.result("width") == "12" && small.result("height") == "24", "\(name)")
      #expect(try TakenApart(small.body).frames.count == 4, "\(name)")
      try adjust(name, moves + #", {"type": "exposure", "ev": 0.5}"#)
      let still = try image(daemon, name, "animated=true&format=webp")
      #expect(still.status == 200 && still.result("width") == "24", "\(name)")
      #expect(try TakenApart(still.body).frames.isEmpty, "\(name)")
      let unadjusted = try image(daemon, name, "animated=true&version=unadjusted")
      #expect(try TakenApart(unadjusted.body).frames.count == 4, "\(name)")
    }
  }

  @Test("an animation beyond a limit is 422 with the limit; its first frame is shown")
  func limits() throws {
    for (setting, words) in [
      ("limits.animationFrames=3", "number of frames"), ("limits.animationPixels=10000", "pixels of all frames"),
    ] {
      let daemon = try TestDaemon(
        { files in
          try files.put(Self.gif, "a.gif")
          try files.put(Self.png, "b.png")
        }, arguments: ["--set", setting])
      for name in ["a.gif", "b.png"] {
        let answer = try image(daemon, name, "animated=true")
        let detail = try #require(answer.json["detail"] as? String)
        #expect(answer.status == 422 && detail.contains(words), "\(name)")
        #expect(detail.contains("Raise \(setting.prefix { $0 != "=" }) "), "\(detail)")
        #expect(try image(daemon, name, "targetSize=20x20").status == 200)
      }
    }
  }

  @Test("a damaged later frame refuses the animation; the first frame is shown before and after that request")
  func damagedLaterFrame() throws {
    let source = try TestDaemon { try $0.put(Self.gif, "a.gif") }
    let whole = try image(source, "a.gif", "animated=true").body
    let daemon = try TestDaemon { try $0.put(Array(whole.dropLast(20)), "a.webp") }
    for (query, status) in [
      ("targetSize=20x20", 200), ("animated=true&targetSize=32x32", 422), ("targetSize=40x40", 200),
    ] {
      #expect(try image(daemon, "a.webp", query).status == status, "\(query)")
    }
  }

  @Test("a file that ends in a frame is the animation of the frames before it, and its still picture is the first one")
  func endsInFrame() throws {
    // Where the frames begin: the graphic controls with their blocks, and the fcTL chunks with their lengths.
    let gifFrames = Self.gif.ranges(of: [0x21, 0xF9, 4]).map(\.lowerBound)
    let pngFrames = Self.png.ranges(of: Array("fcTL".utf8)).map { $0.lowerBound - 4 }
    try #require(gifFrames.count == 4 && pngFrames.count == 4)
    // The pixels begin after 43 bytes in the GIF, and after 50 in the APNG.
    let files: [(name: String, bytes: ArraySlice<UInt8>, frames: Int, isIncomplete: Bool)] = [
      ("pixels.gif", Self.gif.dropLast(6), 3, true), ("pixels.png", Self.png.dropLast(20), 3, true),
      ("second.gif", Self.gif.prefix(gifFrames[1] + 50), 1, true),
      ("second.png", Self.png.prefix(pngFrames[1] + 38 + 16), 1, true),
      ("head.gif", Self.gif.prefix(gifFrames[3] + 13), 3, false),
      ("head.png", Self.png.prefix(pngFrames[3] + 20), 3, false),
    ]
    let daemon = try TestDaemon { folder in
      for file in files { try folder.put(Array(file.bytes), file.name) }
      try folder.put(Array(Self.gif.prefix(100)), "first.gif")
    }
    #expect(try image(daemon, "first.gif", "animated=true").status == 422)
    for (name, _, frames, isIncomplete) in files {
      let answer = try image(daemon, name, "animated=true")
      try #require(answer.status == 200 && answer["Content-Type"] == "image/webp", "\(name): \(answer.status)")
      let milliseconds = try TakenApart(answer.body).frames.map(\.milliseconds)
      #expect(milliseconds == Array(Self.milliseconds.prefix(frames)), "\(name)")
      let isMarked = answer.result("incomplete") == "?1" && answer["ETag"] == nil
      #expect(isMarked == isIncomplete, "\(name)")
      let still = try image(daemon, name, "format=png")
      #expect(still.status == 200 && still.result("width") == "64" && still["ETag"] != nil, "\(name)")
      #expect(try daemon.get("/v1/assets/\(daemon.identifier(name))").json["isAnimated"] as? Bool == true, "\(name)")
    }
  }
}
