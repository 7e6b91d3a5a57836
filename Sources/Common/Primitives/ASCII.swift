extension UInt8 {
  /// Whether the byte is an ASCII letter or digit.
  package var isASCIILetterOrDigit: Bool {
    // Bit 5 is the case of a letter.
    self &- UInt8(ascii: "0") < 10 || (self | 0x20) &- UInt8(ascii: "a") < 26
  }
}
