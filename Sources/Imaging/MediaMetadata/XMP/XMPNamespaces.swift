#if canImport(Glibc)
  import Glibc
#endif

/// Keys of properties: `prefix:name`, with the usual prefix of the namespace, whatever prefix the file uses.
struct XMPNamespaces {
  static let rdf: StaticString = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  static let xml: StaticString = "http://www.w3.org/XML/1998/namespace"
  static let meta: StaticString = "adobe:ns:meta/"

  /// The first namespaces of this file, with their prefixes: a packet has about ten, and comparing them is faster than
  /// hashing. Limited, because a packet may be made to have thousands.
  private var first: [(namespace: [UInt8], prefix: String)] = []
  private static let comparedNamespaces = 24
  /// Namespaces of this file without a usual prefix, with the prefix that each was assigned.
  private var assignedPrefixes: [String: String] = [:]

  /// The key of a property. If a file uses one prefix for two namespaces, a number distinguishes them.
  mutating func key(_ name: XMLName) -> String {
    let local = String(decoding: name.local, as: UTF8.self)
    return name.namespace.isEmpty ? local : prefix(name) + ":" + local
  }

  private mutating func prefix(_ name: XMLName) -> String {
    if let known = first.first(where: { Self.equal($0.namespace, name.namespace) }) { return known.prefix }
    let namespace = String(decoding: name.namespace, as: UTF8.self)
    let prefix = Self.known[namespace] ?? assignedPrefixes[namespace] ?? assignPrefix(namespace, name)
    if first.count < Self.comparedNamespaces { first.append((Array(name.namespace), prefix)) }
    return prefix
  }

  private static func equal(_ one: [UInt8], _ another: UnsafeBufferPointer<UInt8>) -> Bool {
    one.count == another.count
      && one.withUnsafeBufferPointer { bytes in
        guard let start = bytes.baseAddress, let other = another.baseAddress else { return true }
        return memcmp(start, other, bytes.count) == 0
      }
  }

  private mutating func assignPrefix(_ namespace: String, _ name: XMLName) -> String {
    let wanted = name.prefix.isEmpty ? "ns" : String(decoding: name.prefix, as: UTF8.self)
    var prefix = wanted
    var number = 2
    while Self.knownPrefixes.contains(prefix) || assignedPrefixes.values.contains(prefix) {
      prefix = "\(wanted)\(number)"
      number += 1
    }
    assignedPrefixes[namespace] = prefix
    return prefix
  }

  private static let knownPrefixes = Set(known.values)

  /// The prefixes in the specifications that define the namespaces.
  private static let known: [String: String] = [
    "adobe:ns:meta/": "x",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://www.w3.org/XML/1998/namespace": "xml",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://ns.adobe.com/xap/1.0/": "xmp",
    "http://ns.adobe.com/xap/1.0/mm/": "xmpMM",
    "http://ns.adobe.com/xap/1.0/rights/": "xmpRights",
    "http://ns.adobe.com/xap/1.0/bj/": "xmpBJ",
    "http://ns.adobe.com/xap/1.0/t/pg/": "xmpTPg",
    "http://ns.adobe.com/xap/1.0/g/": "xmpG",
    "http://ns.adobe.com/xap/1.0/g/img/": "xmpGImg",
    "http://ns.adobe.com/xmp/1.0/DynamicMedia/": "xmpDM",
    "http://ns.adobe.com/xmp/note/": "xmpNote",
    "http://ns.adobe.com/xmp/Identifier/qual/1.0/": "xmpidq",
    "http://ns.adobe.com/xap/1.0/sType/ResourceEvent#": "stEvt",
    "http://ns.adobe.com/xap/1.0/sType/ResourceRef#": "stRef",
    "http://ns.adobe.com/xap/1.0/sType/Version#": "stVer",
    "http://ns.adobe.com/xap/1.0/sType/Job#": "stJob",
    "http://ns.adobe.com/xap/1.0/sType/Dimensions#": "stDim",
    "http://ns.adobe.com/xap/1.0/sType/Font#": "stFnt",
    "http://ns.adobe.com/xap/1.0/sType/ManifestItem#": "stMfs",
    "http://ns.adobe.com/xmp/sType/Area#": "stArea",
    "http://ns.adobe.com/tiff/1.0/": "tiff",
    "http://ns.adobe.com/exif/1.0/": "exif",
    "http://cipa.jp/exif/1.0/": "exifEX",
    "http://ns.adobe.com/exif/1.0/aux/": "aux",
    "http://ns.adobe.com/photoshop/1.0/": "photoshop",
    "http://ns.adobe.com/camera-raw-settings/1.0/": "crs",
    "http://ns.adobe.com/camera-raw-saved-settings/1.0/": "crss",
    "http://ns.adobe.com/camera-raw-defaults/1.0/": "crd",
    "http://ns.adobe.com/camera-raw-embedded-lens-profile/1.0/": "crlcp",
    "http://ns.adobe.com/photoshop/1.0/camera-profile": "stCamera",
    "http://ns.adobe.com/lightroom/1.0/": "lr",
    "http://ns.adobe.com/hdr-gain-map/1.0/": "hdrgm",
    "http://ns.adobe.com/hdr-metadata/1.0/": "hdr_metadata",
    "http://ns.adobe.com/pdf/1.3/": "pdf",
    "http://iptc.org/std/Iptc4xmpCore/1.0/xmlns/": "Iptc4xmpCore",
    "http://iptc.org/std/Iptc4xmpExt/2008-02-29/": "Iptc4xmpExt",
    "http://ns.useplus.org/ldf/xmp/1.0/": "plus",
    "http://creativecommons.org/ns#": "cc",
    "http://ns.microsoft.com/photo/1.0": "MicrosoftPhoto",
    "http://ns.microsoft.com/photo/1.0/": "MicrosoftPhoto",
    "http://ns.microsoft.com/photo/1.2/": "MP",
    "http://ns.microsoft.com/photo/1.2/t/RegionInfo#": "MPRI",
    "http://ns.microsoft.com/photo/1.2/t/Region#": "MPReg",
    "http://www.metadataworkinggroup.com/schemas/regions/": "mwg-rs",
    "http://www.metadataworkinggroup.com/schemas/keywords/": "mwg-kw",
    "http://www.metadataworkinggroup.com/schemas/collections/": "mwg-coll",
    "http://www.digikam.org/ns/1.0/": "digiKam",
    "http://ns.iview-multimedia.com/mediapro/1.0/": "mediapro",
    "http://ns.microsoft.com/expressionmedia/1.0/": "expressionmedia",
    "http://ns.acdsee.com/iptc/1.0/": "acdsee",
    "http://ns.acdsee.com/regions/": "acdsee-rs",
    "http://ns.google.com/photos/1.0/panorama/": "GPano",
    "http://ns.google.com/photos/1.0/depthmap/": "GDepth",
    "http://ns.google.com/photos/1.0/focus/": "GFocus",
    "http://ns.google.com/photos/1.0/image/": "GImage",
    "http://ns.google.com/photos/1.0/audio/": "GAudio",
    "http://ns.google.com/photos/1.0/camera/": "GCamera",
    "http://ns.google.com/photos/1.0/creations/": "GCreations",
    "http://ns.google.com/photos/1.0/container/": "Container",
    "http://ns.google.com/photos/1.0/container/item/": "Item",
    "http://ns.google.com/videos/1.0/spherical/": "GSpherical",
    "http://ns.apple.com/pixeldatainfo/1.0/": "apdi",
    "http://ns.apple.com/HDRGainMap/1.0/": "HDRGainMap",
    "http://ns.apple.com/faceinfo/1.0/": "apple-fi",
    "http://ns.apple.com/adjustment-settings/1.0/": "aas",
    "http://www.dji.com/drone-dji/1.0/": "drone-dji",
    "http://www.parrot.com/drone-parrot/1.0/": "drone-parrot",
    "http://rs.tdwg.org/dwc/index.htm": "dwc",
    "http://rs.tdwg.org/dwc/terms/": "dwc",
    "http://rs.tdwg.org/dwc/iri/": "dwciri",
    "http://prismstandard.org/namespaces/1.0/basic/": "prism",
    "http://prismstandard.org/namespaces/1.2/basic/": "prism",
    "http://prismstandard.org/namespaces/basic/1.0/": "prism",
    "http://prismstandard.org/namespaces/basic/2.0/": "prism",
    "http://prismstandard.org/namespaces/basic/2.1/": "prism",
    "http://prismstandard.org/namespaces/basic/2.2/": "prism",
    "http://prismstandard.org/namespaces/basic/3.0/": "prism",
    "http://xmp.gettyimages.com/gift/1.0/": "GettyImagesGIFT",
    "http://darktable.sf.net/": "darktable",
    "http://developer.sonyericsson.com/cell/1.0/": "cell",
    "http://www.w3.org/2003/01/geo/wgs84_pos#": "geo",
    "http://www.georss.org/georss": "georss",
  ]
}
