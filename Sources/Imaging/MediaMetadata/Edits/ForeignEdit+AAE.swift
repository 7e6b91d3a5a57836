// Apple's adjustment sidecars (.AAE): a property list with a PHAdjustmentData and who wrote it. The data of
// com.apple.photo are JSON, compressed with DEFLATE (RFC 1951); those of other programs have formats of their own.
//
//     adjustmentFormatIdentifier, adjustmentFormatVersion    text
//     adjustmentData                                         bytes
//
// Apple documents no part of the JSON. Only two adjustments are read, because their meaning is evident from files of
// cameras and phones: Crop, a rectangle in pixels of the stored picture with Core Image's origin at the bottom left,
// and Orientation.

import FoundationEssentials
import PhotoModel

extension ForeignEdit {
  /// The maximum length of a sidecar that is read for its edit, in bytes. Usual ones have one to ten thousand.
  package static let maximumSidecarBytes = 256 << 10
  /// The maximum length of its data after decompression, in bytes.
  static let maximumDataBytes = 1 << 20
  private static let photos = "com.apple.photo"

  /// - Parameter file: a whole sidecar; at most ``maximumSidecarBytes`` are read.
  /// - Returns: `nil` for a file that is not a property list with an adjustment's format and data.
  package init?(aae file: [UInt8]) {
    guard file.count <= Self.maximumSidecarBytes, PropertyListShape.isFlat(file),
      let list = try? PropertyListDecoder().decode(Sidecar.self, from: Data(file)),
      let identifier = list.adjustmentFormatIdentifier, Self.isName(identifier), let data = list.adjustmentData
    else { return nil }
    self.init(
      formatIdentifier: identifier,
      formatVersion: list.adjustmentFormatVersion.flatMap { Self.isName($0) ? $0 : nil } ?? "")
    isAlwaysEdit = true
    guard identifier == Self.photos, let adjustments = PhotosAdjustments(data) else {
      note(unknown: "adjustmentData")
      return
    }
    for adjustment in adjustments.list where adjustment.isEnabled { read(adjustment) }
  }

  private static func isName(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
  }

  private struct Sidecar: Decodable {
    let adjustmentFormatIdentifier: String?
    let adjustmentFormatVersion: String?
    let adjustmentData: Data?
  }

  /// Angles of a crop: with one of them, the rectangle is in coordinates that are not known.
  private static let angles = ["angle", "straightenAngle", "pitch", "yaw"]

  private mutating func read(_ adjustment: PhotosAdjustments.Adjustment) {
    switch adjustment.identifier {
    case "Crop":
      let rect = ["xOrigin", "yOrigin", "width", "height"].compactMap(adjustment.number)
      let isStraight = Self.angles.allSatisfy { abs(adjustment.number($0) ?? 0) < 1e-6 }
      guard isStraight, rect.count == 4, frame == nil else { return note(unknown: "Crop") }
      frame = .mappedPixels(affine: nil, rect: rect)
    case "Orientation":
      guard let number = adjustment.number("value"), (1...8).contains(number), turn == nil else {
        return note(unknown: "Orientation")
      }
      turn = Int(number)
    default: note(unknown: adjustment.identifier)
    }
  }
}

/// The data of com.apple.photo.
private struct PhotosAdjustments {
  struct Adjustment {
    let identifier: String
    let isEnabled: Bool
    let settings: [String: JSONValue]

    func number(_ name: String) -> Double? {
      switch settings[name] {
      case .integer(let number): Double(number)
      case .number(let number) where number.isFinite: number
      default: nil
      }
    }
  }

  let list: [Adjustment]

  init?(_ data: Data) {
    guard
      let text = RawProfile.inflated(raw: [UInt8](data)[...], limit: ForeignEdit.maximumDataBytes),
      case .object(let members)? = try? JSONDecoder().decode(JSONValue.self, from: Data(text)),
      case .array(let adjustments)? = members["adjustments"]
    else { return nil }
    list = adjustments.prefix(ForeignEdit.maximumNames * 4).compactMap { adjustment in
      guard case .object(let members) = adjustment, case .string(let identifier)? = members["identifier"] else {
        return nil
      }
      var settings: [String: JSONValue] = [:]
      if case .object(let members)? = members["settings"] { settings = members }
      return Adjustment(
        identifier: identifier, isEnabled: members["enabled"] != .bool(false), settings: settings)
    }
  }
}

/// Checks that a property list is as flat as a sidecar is, before a decoder reads it: one that is nested deeply, or
/// contains itself, is an attack.
private enum PropertyListShape {
  private static let maximumContainers = 8
  private static let maximumObjects = 1000

  static func isFlat(_ file: [UInt8]) -> Bool {
    if file.starts(with: Array("bplist00".utf8)) { return isFlatBinary(file) }
    // UTF-8 or ASCII: in other encodings the tags would be different bytes.
    guard !file.contains(0), contains(Array("<plist".utf8), in: file.prefix(512)) else { return false }
    return count("<dict", in: file) + count("<array", in: file) <= maximumContainers && count("<!ENTITY", in: file) == 0
  }

  private static func count(_ tag: String, in file: [UInt8]) -> Int {
    let tag = Array(tag.utf8)
    return file.indices.reduce(0) { $0 + (file[$1] == tag[0] && file[$1...].starts(with: tag) ? 1 : 0) }
  }

  private static func contains(_ tag: [UInt8], in file: ArraySlice<UInt8>) -> Bool {
    file.indices.contains { file[$0...].starts(with: tag) }
  }

  /// The trailer of 32 bytes gives the size of an offset, and the number and the table of objects (CFBinaryPList.c).
  /// Only one object may be a container, so its members can't be containers.
  private static func isFlatBinary(_ file: [UInt8]) -> Bool {
    guard file.count >= 40 else { return false }
    let trailer = file.count - 32
    func number(at position: Int, _ bytes: Int) -> Int? {
      guard bytes > 0, bytes <= 8, position >= 0, position + bytes <= file.count else { return nil }
      let value = file[position..<position + bytes].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return Int(exactly: value)
    }
    let width = Int(file[trailer + 6])
    guard let objects = number(at: trailer + 8, 8), (1...maximumObjects).contains(objects),
      let table = number(at: trailer + 24, 8), table < trailer
    else { return false }
    var containers = 0
    for index in 0..<objects {
      guard let offset = number(at: table + index * width, width), offset < trailer else { return false }
      // The upper half of the marker is the kind: 0xA0 an array, 0xC0 a set, 0xD0 a dictionary.
      if file[offset] >= 0xA0 { containers += 1 }
    }
    return containers <= 1
  }
}
