// The descriptor of one setting. Everything about settings is derived from the list of descriptors, `Settings.table`:
// reading and checking values, `photod settings`, config/photod.json and the page Settings.md.
//
// A new setting is one row of the table, with a field for its value, and the code that uses the field.

/// One row of the settings table.
struct Setting: Sendable {
  typealias Path<Value> = any WritableKeyPath<Settings, Value> & Sendable

  /// Where the value is stored, and which values are valid. The default is the field's initial value.
  enum Field: Sendable {
    case flag(Path<Bool>)
    case text(Path<String>)
    case list(Path<[String]>)
    /// Texts by names that the operator chooses.
    case table(Path<[String: String]>)
    /// One of these words.
    case choice(Path<String>, [String])
    /// A whole number in this range.
    case number(Path<Int>, ClosedRange<Int>, SettingUnit = .count)
  }

  /// The place in the settings file: `http.headerBytes` is the member `headerBytes` of the object `http`.
  let key: String
  let field: Field
  /// What the setting does, and what special values such as 0 mean.
  let summary: String
  /// When to change it.
  let advice: String
  /// Whether SIGHUP applies a new value to the running daemon. A change of the others needs a restart.
  let isReloadable: Bool
  /// Checks the value against the other settings, and sets values that are derived from it. Runs when all values are
  /// set.
  let validate: (@Sendable (inout Settings) throws -> Void)?

  init(
    _ key: String, _ field: Field, _ summary: String, advice: String, isReloadable: Bool = false,
    validate: (@Sendable (inout Settings) throws -> Void)? = nil
  ) {
    self.key = key
    self.field = field
    self.summary = summary
    self.advice = advice
    self.isReloadable = isReloadable
    self.validate = validate
  }

  /// `http` for `http.headerBytes`; `nil` for a setting without a group.
  var group: String? { key.contains(".") ? String(key.prefix { $0 != "." }) : nil }

  /// `headerBytes` for `http.headerBytes`.
  var name: String { group.map { String(key.dropFirst($0.count + 1)) } ?? key }

  var defaultValue: SettingValue { Settings.defaults.value(of: self) }

  /// The environment variable: `scan.intervalSeconds` is PHOTOD_SCAN_INTERVAL_SECONDS, and
  /// `access.signedURLLifetimeSeconds` is PHOTOD_ACCESS_SIGNED_URL_LIFETIME_SECONDS.
  var environmentVariable: String {
    (["photod"] + key.split(separator: ".").flatMap { Self.words(String($0)) }).joined(separator: "_").uppercased()
  }

  /// The words of a name, in lower case. A word begins at a capital that follows a lower-case letter, and at the last
  /// of several capitals if a lower-case letter follows it.
  private static func words(_ name: String) -> [String] {
    let letters = Array(name)
    var words: [String] = []
    for (index, letter) in letters.enumerated() {
      let isAfterUppercase = index > 0 && letters[index - 1].isUppercase
      let isBeforeLowercase = index + 1 < letters.count && letters[index + 1].isLowercase
      if index == 0 || letter.isUppercase && (!isAfterUppercase || isBeforeLowercase) { words.append("") }
      words[words.count - 1] += letter.lowercased()
    }
    return words
  }
}

extension Setting {
  /// The valid values, for the documents: "1 s to 1 day". `nil` if any value of the type is valid.
  var validValues: String? {
    switch field {
    case .flag, .text, .list, .table: nil
    case .choice(_, let words): words.joined(separator: ", ")
    case .number(_, let range, let unit): "\(unit.text(range.lowerBound)) to \(unit.text(range.upperBound))"
    }
  }

  /// The unit of the number in the file, for the documents. `nil` if it is a plain number, or no number.
  var unitName: String? {
    if case .number(_, _, let unit) = field { unit.name } else { nil }
  }

  /// The default, for the documents: "64 MiB" and not "67108864".
  var defaultText: String {
    switch (field, defaultValue) {
    case (.number(_, _, let unit), .number(let number)): unit.text(number)
    case (_, .list(let list)) where list.isEmpty: "none"
    case (_, .table(let table)) where table.isEmpty: "none"
    case (_, .list(let list)): list.joined(separator: ", ")
    case (_, .text("")): "empty"
    case (_, let value): value.text
    }
  }
}
