/// How a picture's chroma is subsampled. The raw values are those of chroma_format_idc (ISO/IEC 23008-2 §6.2).
package enum ChromaSampling: Int, Sendable, Hashable {
  case none, half, halfWidth, full

  /// Luma columns and rows for one of chroma: 1 or 2.
  package var horizontal: Int { self == .half || self == .halfWidth ? 2 : 1 }
  package var vertical: Int { self == .half ? 2 : 1 }
}
