extension Duration {
  /// In seconds, with fractions.
  @inlinable package var seconds: Double { self / .seconds(1) }

  /// In microseconds, with fractions.
  @inlinable package var microseconds: Double { self / .microseconds(1) }

  /// In whole nanoseconds, rounded toward zero.
  @inlinable package var wholeNanoseconds: Int64 { Int64(self / .nanoseconds(1)) }

  /// In whole nanoseconds, rounded toward zero; 0 for a negative duration. For clocks whose times are unsigned.
  @inlinable package var unsignedNanoseconds: UInt64 { UInt64(max(0, self / .nanoseconds(1))) }
}
