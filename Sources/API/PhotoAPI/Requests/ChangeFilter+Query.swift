import LibraryCatalogue

extension ChangeFilter {
  init(_ query: inout QueryReader) throws(Problem) {
    self.init()
    if let text = query.text("types") {
      types = []
      for word in text.split(separator: ",", omittingEmptySubsequences: false) {
        guard let type = ObjectType(rawValue: String(word)) else {
          throw QueryReader.invalid("types", "must be a list of the words asset and collection")
        }
        types.insert(type)
      }
    }
    collection = try query.identifier("collection")
    asset = try query.identifier("asset")
    if asset != nil, collection != nil {
      throw QueryReader.invalid("asset", "can't be combined with collection")
    }
  }
}
