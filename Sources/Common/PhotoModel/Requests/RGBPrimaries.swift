/// The colours that a decoder makes of a JPEG XL picture in XYB: these primaries with sRGB's curve.
package enum RGBPrimaries: Sendable, Hashable {
  case sRGB, displayP3, bt2020
}
