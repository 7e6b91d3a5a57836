import CLibExif
import Primitives

/// Names of EXIF entries: those of the EXIF standard, which libexif, ImageIO and, with few exceptions, ExifTool use.
enum EXIFNames {
  static func name(_ tag: Int, in ifd: ExifIfd) -> String {
    if let name = overrides[tag], ifd != EXIF_IFD_GPS, ifd != EXIF_IFD_INTEROPERABILITY { return name }
    // Some programs store entries in the wrong one of these two directories.
    let others = ifd == EXIF_IFD_GPS || ifd == EXIF_IFD_INTEROPERABILITY ? [] : [EXIF_IFD_EXIF, EXIF_IFD_0]
    for ifd in [ifd] + others {
      if let name = exif_tag_get_name_in_ifd(ExifTag(rawValue: UInt32(tag)), ifd) { return String(cString: name) }
    }
    return hexadecimal(tag)
  }

  static func hexadecimal(_ tag: Int) -> String { "0x" + tag.zeroPadded(4, radix: 16) }

  /// Whether a name is the number of an unknown entry.
  static func isHexadecimal(_ name: String) -> Bool { name.hasPrefix("0x") }

  /// Tags for which libexif, or an older version of it, has no name, an ambiguous name, or one of several words.
  private static let overrides: [Int: String] = [
    0x000B: "ProcessingSoftware", 0x00FF: "SubfileType", 0x0107: "Thresholding", 0x0108: "CellWidth",
    0x0109: "CellLength", 0x0118: "MinSampleValue",
    0x0119: "MaxSampleValue", 0x011D: "PageName", 0x011E: "XPosition", 0x011F: "YPosition", 0x0129: "PageNumber",
    0x013C: "HostComputer", 0x013D: "Predictor", 0x0140: "ColorMap", 0x0141: "HalftoneHints", 0x0142: "TileWidth",
    0x0143: "TileLength", 0x0144: "TileOffsets", 0x0145: "TileByteCounts", 0x014C: "InkSet", 0x0152: "ExtraSamples",
    0x0153: "SampleFormat", 0x4746: "Rating", 0x4749: "RatingPercent", 0x83BB: "IPTCNAA", 0x8833: "ISOSpeed",
    0x8834: "ISOSpeedLatitudeyyy", 0x8835: "ISOSpeedLatitudezzz", 0x882B: "SelfTimerMode", 0x935C: "ImageSourceData",
    0x9010: "OffsetTime", 0x9011: "OffsetTimeOriginal",
    0x9012: "OffsetTimeDigitized", 0x9211: "ImageNumber", 0x9212: "SecurityClassification", 0x9213: "ImageHistory",
    0x9216: "TIFFEPStandardID", 0x9290: "SubSecTime", 0x9400: "AmbientTemperature", 0x9401: "Humidity",
    0x9402: "Pressure", 0x9403: "WaterDepth", 0x9404: "Acceleration", 0x9405: "CameraElevationAngle",
    0xA430: "CameraOwnerName", 0xA431: "BodySerialNumber", 0xA432: "LensSpecification", 0xA433: "LensMake",
    0xA434: "LensModel", 0xA435: "LensSerialNumber", 0xA436: "ImageTitle", 0xA437: "Photographer",
    0xA438: "ImageEditor", 0xA439: "CameraFirmware", 0xA43A: "RAWDevelopingSoftware", 0xA43B: "ImageEditingSoftware",
    0xA43C: "MetadataEditingSoftware", 0xA460: "CompositeImage", 0xA461: "SourceImageNumberOfCompositeImage",
    0xA462: "SourceExposureTimesOfCompositeImage", 0xA480: "GDALMetadata", 0xA481: "GDALNoData", 0xC612: "DNGVersion",
    0xC613: "DNGBackwardVersion", 0xC614: "UniqueCameraModel", 0xC615: "LocalizedCameraModel",
    0xC62F: "CameraSerialNumber", 0xC630: "LensInfo", 0xC68B: "OriginalRawFileName", 0xC6D2: "PanasonicTitle",
    0xC6D3: "PanasonicTitle2", 0xC71B: "PreviewDateTime",
  ]
}
