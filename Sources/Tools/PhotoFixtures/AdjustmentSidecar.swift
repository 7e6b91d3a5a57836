import Foundation

/// Apple's adjustment sidecar (.AAE): a property list with adjustments as JSON, compressed by DEFLATE.
package struct AdjustmentSidecar {
  package var formatIdentifier: String? = "com.apple.photo"
  package var formatVersion = "1.5"
  /// The members of each entry of `adjustments`, as JSON.
  package var adjustments: [String] = []
  /// Takes the place of the compressed JSON.
  package var data: [UInt8]?

  package init(_ change: (inout AdjustmentSidecar) -> Void = { _ in }) { change(&self) }

  /// A rectangle in pixels of the stored picture, from its bottom left corner.
  package static func crop(x: Double, y: Double, width: Double, height: Double, angle: Double = 0) -> String {
    """
    {"formatIdentifier":"com.apple.photo","formatVersion":1,"identifier":"Crop","enabled":true,"settings":\
    {"xOrigin":\(x),"yOrigin":\(y),"width":\(width),"height":\(height),"straightenAngle":\(angle),"pitch":0,"yaw":0}}
    """
  }

  package static func orientation(_ number: Int) -> String {
    #"{"identifier":"Orientation","enabled":true,"settings":{"value":\#(number)}}"#
  }

  package var encoded: [UInt8] {
    let json =
      #"{"adjustments":[\#(adjustments.joined(separator: ","))],"formatVersion":1,"metadata":{"orientation":1}}"#
    let bytes = data ?? Self.stored(Array(json.utf8))
    let format = formatIdentifier.map { "<key>adjustmentFormatIdentifier</key><string>\($0)</string>" } ?? ""
    return Array(
      """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0"><dict>
      <key>adjustmentBaseVersion</key><integer>0</integer>
      <key>adjustmentData</key><data>\(Data(bytes).base64EncodedString())</data>
      \(format)<key>adjustmentFormatVersion</key><string>\(formatVersion)</string>
      <key>adjustmentTimestamp</key><date>2024-03-21T17:37:31Z</date>
      </dict></plist>
      """.utf8)
  }

  /// A DEFLATE stream of blocks that are not compressed (RFC 1951 §3.2.4).
  package static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = []
    var rest = bytes[...]
    repeat {
      let block = rest.prefix(0xFFFF)
      rest = rest.dropFirst(block.count)
      let length = UInt16(block.count)
      stream += [
        rest.isEmpty ? 1 : 0, UInt8(length & 0xFF), UInt8(length >> 8), UInt8(~length & 0xFF), UInt8(~length >> 8),
      ]
      stream += block
    } while !rest.isEmpty
    return stream
  }
}
