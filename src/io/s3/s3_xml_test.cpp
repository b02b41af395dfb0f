#include "io/s3/s3_xml.h"

#include <gtest/gtest.h>

namespace colonnade::io {
namespace {

TEST(Xml, HasElementsWithText) {
  const auto document = parse_xml(
      "<?xml version=\"1.0\"?>\n<!-- <a> -->\n<s3:List xmlns=\"http://x/\" b='c'>\n"
      "  <Key>a&amp;b &lt;&#x41;&#66;&gt; &quot;&apos; &unknown; & x</Key><Empty/>\n"
      "  <Key>second</Key>\n  <Owner><ID>1</ID></Owner><Data><![CDATA[<&>]]></Data>\n</s3:List>\n");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->name, "List");
  ASSERT_EQ(document->children.size(), 5u);
  EXPECT_EQ(document->child_text("Key"), "a&b <AB> \"' &unknown; & x");
  EXPECT_EQ(document->children[2].text, "second");
  EXPECT_EQ(document->child_text("Empty"), "");
  EXPECT_EQ(document->child("Owner")->child_text("ID"), "1");
  EXPECT_EQ(document->child_text("Data"), "<&>");
  EXPECT_EQ(document->child("None"), nullptr);
}

TEST(Xml, DecodesCharactersToUtf8) {
  EXPECT_EQ(parse_xml("<a>&#233;&#x20ac;&#x1F600;</a>")->text, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(parse_xml("<a>&#0;&#x110000;</a>")->text, "&#0;&#x110000;");
}

TEST(Xml, RefusesWhatIsNone) {
  for (const char* text : {"", "no", "<", "<a", "<a>", "<a><b></a>", "</a>", "<a></b>", "<>", "<a><!-- </a>",
                           "<a><![CDATA[ </a>", "<?xml", "< a></ a>"})
    EXPECT_FALSE(parse_xml(text)) << text;
}

TEST(Xml, RefusesEndlessNesting) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  EXPECT_FALSE(parse_xml(deep));
}

TEST(Xml, EscapesWhatItMust) {
  EXPECT_EQ(xml_escaped("a<b>&\"\n"), "a&lt;b&gt;&amp;&quot;&#10;");
}

}  // namespace
}  // namespace colonnade::io
