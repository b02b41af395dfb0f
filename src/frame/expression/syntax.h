// The syntax tree of an expression text. Nodes refer to each other by number, so that destroying a deep tree
// needs no deep recursion.
#ifndef COLONNADE_FRAME_EXPRESSION_SYNTAX_H
#define COLONNADE_FRAME_EXPRESSION_SYNTAX_H

#include <cstdint>
#include <string>
#include <vector>

#include "frame/expression/expression.h"
#include "frame/expression/message.h"

namespace colonnade::frame {

using NodeIndex = std::uint32_t;

enum class NodeKind : std::uint8_t {
  literal,      // value
  name,         // text; quoted: always a column
  member,       // text; child: the object
  subscript,    // children: the object, the index
  call,         // text: the function or type as written; children: the arguments
  method,       // text; children: the object, the arguments
  unary,        // text: the operator; child
  binary,       // text: the operator; children
  conditional,  // children: condition, yes, no
  cast,         // text: the type; child
  list,         // {children}
  lambda,       // parameters, template_types: their types, type: of the result or empty; child: the body
  let,          // text: a name, type: its type or "auto"; children: its value, what it is used in
  body,         // children: statements; the last one is a result, unless the body is that of a branch
  declaration,  // of a body; text: a name, type: its type or "auto"; child: its value, if it has one
  assignment,   // of a body; text: the name of a variable; child: its new value
  branch,       // of a body; children: condition, body, and the body of the else if there is one
  result        // of a body; child: the value
};

struct SyntaxNode {
  NodeKind kind = NodeKind::literal;
  bool braces = false;  // a call spelled T{...}
  bool quoted = false;
  std::uint32_t depth = 1;  // of a recursion through it
  TextRange whole;
  TextRange mark;  // what a message about the node marks
  std::string text;
  std::string type;
  std::vector<std::string> template_types;
  std::vector<std::string> parameters;  // names
  std::vector<NodeIndex> children;
  ValuesPtr value;
};

struct Formula::Syntax {
  std::string text;
  std::vector<SyntaxNode> nodes;
  NodeIndex root = 0;

  const SyntaxNode& operator[](NodeIndex index) const { return nodes[index]; }
};

// Throws ErrorKind::usage.
Formula::Syntax parse(std::string text);

// "jets.pt" for members of a plain name, "" for other nodes.
std::string dotted_path(const Formula::Syntax& syntax, NodeIndex index);

}  // namespace colonnade::frame

#endif
