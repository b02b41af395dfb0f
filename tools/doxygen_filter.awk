# Comments of headers as Doxygen wants them: what stands before something, behind it, and at the top of a file.
# Used by docs/Doxyfile.
FNR == 1 { print "/// @file" }
/^struct std::/ { sub(/std::/, "") }  # a specialisation of another namespace has no place
{
  if ($0 ~ /^ *\/\/ ----/) { print ""; next }          # headings between groups
  if ($0 !~ /"[^"]*\/\/[^"]*"/) {                       # a URI in a text is no comment
    sub(/^ *\/\/$/, "&/")
    if ($0 ~ /^ *\/\//) gsub(/#include/, "\\#include")  # code in a comment is no link
    gsub(/^ *\/\/ /, "&\001"); sub(/\/\/ \001/, "/// ")
    if ($0 !~ /^ *\/\//) sub(/[;,{}(] +\/\/ /, "&\002")
    sub(/\/\/ \002/, "///< ")
  }
  gsub(/[\001\002]/, "")
  print
}
