-- What joins the pages of the site, for both renderers: a reference to a figure, table or section of
-- another page becomes a link to it, the number of a claim a link to its card, and a word of the
-- glossary a button for its meaning where the page uses it first.
--
-- The places of the site and the words of its glossary come with the page, in a block of code of class `site-places` that the
-- set-up chunk writes (analysis.report.reading.places); without one nothing is changed.

local places, page = nil, nil
local NAMES = { fig = "Figure", tbl = "Table", sec = "Section", eq = "Equation" }
local NO_BREAK = "\u{00a0}"

local function read(block)
  if block.classes:includes("site-places") then
    local said = pandoc.json.decode(block.text, false)
    places, page = said, said.page
    return {}
  end
end

local function elsewhere(identifier)
  local place = places and places.labels[identifier]
  if place and place.page ~= page then
    return place
  end
end

local function address(place, identifier)
  return place.page .. ".html#" .. identifier
end

-- "Figure 3 in *Heritage*", a link to another page.
local function reference(citation, place)
  local kind = citation.id:match("^(%a+)-")
  local words = pandoc.Inlines({})
  if #citation.prefix > 0 then
    words:extend(citation.prefix)
    words:insert(pandoc.Str(NO_BREAK))
  elseif citation.mode ~= "SuppressAuthor" then
    words:insert(pandoc.Str(NAMES[kind] .. NO_BREAK))
  end
  words:insert(pandoc.Str(place.number))
  local title = places.pages[place.page]
  words:extend({ pandoc.Space(), pandoc.Str("in"), pandoc.Space() })
  words:insert(pandoc.Emph(pandoc.Inlines(title)))
  return pandoc.Link(words, address(place, citation.id), "", pandoc.Attr("", { "xref" }))
end

local function cite(element)
  local result = pandoc.Inlines({})
  for position, citation in ipairs(element.citations) do
    local place = elsewhere(citation.id)
    if not place then
      return nil
    end
    if position > 1 then
      result:extend({ pandoc.Str(","), pandoc.Space() })
    end
    result:insert(reference(citation, place))
    result:extend(citation.suffix)
  end
  return result
end

local function link(element)
  local identifier = element.target:match("^#(.+)$")
  local place = identifier and elsewhere(identifier)
  if place then
    element.target = address(place, identifier)
    return element, false
  end
  return element, false
end

local function card(number)
  local here = page == "claims" and "" or "claims.html"
  return here .. "#claim-" .. number
end

local function to_card(number)
  return pandoc.Link({ pandoc.Str(number) }, card(number), "", pandoc.Attr("", { "claim-link" }))
end

-- Links the numbers that follow the word "claim" or "claims": "claims 7, 22 and 31".
local function with_cards(inlines)
  local counting = false
  local result = pandoc.Inlines({})
  for _, inline in ipairs(inlines) do
    local text = inline.t == "Str" and inline.text or nil
    local number, rest = nil, nil
    if text then
      number, rest = text:match("^(%d+)(%p*)$")
      if not counting then
        local word, joined = text:match("^(%p*[Cc]laims?" .. NO_BREAK .. ")(%d+%p*)$")
        if word then
          result:insert(pandoc.Str(word))
          number, rest = joined:match("^(%d+)(%p*)$")
          counting = true
        end
      end
    end
    if counting and number and places.claims[number] then
      result:insert(to_card(number))
      if rest ~= "" then
        result:insert(pandoc.Str(rest))
      end
      counting = rest == "" or rest == ","
    else
      result:insert(inline)
      if text then
        local is_claim = text:match("^%p*[Cc]laims?$") ~= nil
        counting = is_claim or (counting and (text == "and" or text == "to" or text == "or"))
      elseif not (inline.t == "Space" or inline.t == "SoftBreak") then
        counting = false
      end
    end
  end
  return result
end

-- Links every number in "[7, 22 and 31]{.claims}" that is one of a claim.
local function all_to_cards(element)
  if not (places and places.claims and element.classes:includes("claims")) then
    return nil
  end
  local linked = element.content:walk({
    Str = function(inline)
      local result = pandoc.Inlines({})
      for other, number in inline.text:gmatch("(%D*)(%d*)") do
        if other ~= "" then
          result:insert(pandoc.Str(other))
        end
        if number ~= "" then
          result:insert(places.claims[number] and to_card(number) or pandoc.Str(number))
        end
      end
      return result
    end,
  })
  return linked, false
end

local function inlines(list)
  if places and places.claims then
    return with_cards(list)
  end
end

-- What a drawing carries under a name; see analysis.drawing.picture.
local ENTITIES = { amp = "&", lt = "<", gt = ">", quot = '"', ["#x27"] = "'" }

local function carried(drawing, name)
  local said = drawing:match('<metadata class="' .. name .. '">([^<]*)</metadata>')
  return said and said:gsub("&(#?%w+);", ENTITIES)
end

local function read_file(path)
  local file = io.open(path, "rb")
  local text = file and file:read("a") or ""
  if file then
    file:close()
  end
  return text
end

-- A drawing that Quarto wrote to a file becomes part of the page, so that its marks have titles. Its
-- finding stands above it, in print too, and a link to its rows below it, as the embedded renderer does.
local function image(element)
  if not element.src:match("%.svg$") then
    return element, false
  end
  element.classes:insert("inline-svg")
  local drawing = read_file(element.src)
  local shown = pandoc.Inlines({ element })
  local finding, rows = carried(drawing, "finding"), carried(drawing, "rows")
  if finding and FORMAT:match("html") then
    shown:insert(1, pandoc.Span(pandoc.Inlines(finding), pandoc.Attr("", { "finding" })))
  elseif finding and FORMAT == "typst" then
    shown:insert(1, pandoc.LineBreak())
    shown:insert(1, pandoc.Strong(pandoc.Inlines(finding)))
  end
  if rows and FORMAT:match("html") then
    local label = element.src:match("([^/]+)%-output%-%d+%.svg$") or "figure"
    local link = '<a download="%s.csv" href="data:text/csv;base64,%s">Data (CSV)</a>'
    local note = '<span class="made-of">' .. link:format(label, rows) .. "</span>"
    shown:insert(pandoc.RawInline("html", note))
  end
  return shown, false
end

-- An option or a short name stays on one line: a browser may break it after each hyphen.
local LONGEST_UNBROKEN = 24

local function code(element)
  if #element.text <= LONGEST_UNBROKEN and element.text:find("-", 1, true) then
    element.classes:insert("unbroken")
    return element
  end
  if FORMAT:match("html") and #element.classes == 0 and element.text:find("%-%-%a") then
    local shown = element.text:gsub("[&<>]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;" })
    shown = shown:gsub("%-%-%a[%w-]*", '<span class="unbroken">%0</span>')
    return pandoc.RawInline("html", "<code>" .. shown .. "</code>")
  end
end

-- An exponent has a minus, at which no line ends: 2e-13 in a cell of a table.
local function number(element)
  element.text = element.text:gsub("(%de)%-(%d)", "%1\u{2212}%2")
  return element
end

local function untouched(element)
  return element, false
end

-- Quarto's page has no font for formulas; the embedded page brings its own.
local FORMULAS = { "site/formula.css", "../site/formula.css" }

local function with_formulas()
  for _, path in ipairs(quarto and FORMAT:match("html") and FORMULAS or {}) do
    local sheet = io.open(path)
    if sheet then
      sheet:close()
      quarto.doc.include_text("in-header", '<link rel="stylesheet" href="' .. path .. '">')
      return
    end
  end
end

-- A word of the glossary where running text uses it first: not in headings, links, code, quotations,
-- tables and captions. The meaning is a popover of HTML, which opens without a script.
local unseen = pandoc.List()
local SKIPPED = { fig = true, tbl = true }
local INNER = { Emph = true, Strong = true, Quoted = true }
local SPACES = { Space = " ", SoftBreak = "\n" }
local APOSTROPHE = "\u{2019}"

-- Text in which a space that does not break, and an apostrophe, are one byte each, and back.
local function plain(text)
  return (text:gsub(NO_BREAK, "\1"):gsub(APOSTROPHE, "\2"))
end

local function restored(text)
  return (text:gsub("\1", NO_BREAK):gsub("\2", APOSTROPHE))
end

local function tokens(text)
  local result = pandoc.Inlines({})
  for space, word in text:gmatch("([ \n]*)([^ \n]*)") do
    for letter in space:gmatch(".") do
      result:insert(letter == " " and pandoc.Space() or pandoc.SoftBreak())
    end
    if word ~= "" then
      result:insert(pandoc.Str(restored(word)))
    end
  end
  return result
end

-- A form as a pattern: its first letter in either case, its spaces of any kind.
local function pattern_of(form)
  local escaped = plain(form:gsub("'", APOSTROPHE)):gsub("%p", "%%%0"):gsub(" ", "[ \n\1]")
  return (escaped:gsub("^%l", function(letter)
    return "[" .. letter:upper() .. letter .. "]"
  end))
end

-- The first use of an unseen word in a text, of several the longest: its ends and its place in the list.
local function first_use(text)
  local from, to, which = nil, nil, nil
  for place, term in ipairs(unseen) do
    for _, pattern in ipairs(term.patterns) do
      local first, last = text:find(pattern)
      while first and (text:sub(first - 1, first - 1):match("[%w_/-]") or text:match("^[%w_/-]", last + 1)) do
        first, last = text:find(pattern, last + 1)
      end
      if first and (not from or first < from or (first == from and last > to)) then
        from, to, which = first, last, place
      end
    end
  end
  return from, to, which
end

-- A short formula in letters: MathML is no name of a button for those who hear the page.
local function spelled(formula)
  local letter, mark, rest = formula:match("^(%a)([_^]?)(.*)$")
  local result = pandoc.Inlines({ pandoc.Emph(letter) })
  if mark ~= "" then
    result:insert(mark == "_" and pandoc.Subscript({ pandoc.Emph(rest) }) or pandoc.Superscript(rest))
  end
  return result
end

-- The button, what touches it, and its meaning, so that no line begins with a comma.
local function explained(before, word, after, which)
  local term = unseen:remove(which)
  local opening = '<button type="button" class="term" popovertarget="%s">'
  local meaning = '<span class="term-meaning" popover id="%s">'
  local result = pandoc.Inlines({ pandoc.RawInline("html", '<span class="explained">') })
  result:extend(before)
  result:insert(pandoc.RawInline("html", opening:format(term.id)))
  result:extend(word)
  result:insert(pandoc.RawInline("html", "</button>"))
  result:extend(after)
  result:insert(pandoc.RawInline("html", meaning:format(term.id)))
  result:extend(pandoc.read(term.meaning, "markdown").blocks[1].content)
  result:insert(pandoc.RawInline("html", "</span></span>"))
  return result
end

local function with_words(text)
  local result = pandoc.Inlines({})
  local from, to, which = first_use(text)
  while from do
    local start = text:sub(1, from - 1):match("()[^%s\1]*$")
    local stop = text:match("^\2?%a*[^%s%w\1]*()", to + 1) - 1
    result:extend(tokens(text:sub(1, start - 1)))
    local before, after = text:sub(start, from - 1), text:sub(to + 1, stop)
    result:extend(explained(tokens(before), tokens(text:sub(from, to)), tokens(after), which))
    text = text:sub(stop + 1)
    from, to, which = first_use(text)
  end
  result:extend(tokens(text))
  return result
end

local function with_terms(list)
  local result, text = pandoc.Inlines({}), ""
  local function flush()
    result:extend(with_words(text))
    text = ""
  end
  for _, inline in ipairs(list) do
    if inline.t == "Str" then
      text = text .. plain(inline.text)
    elseif SPACES[inline.t] then
      text = text .. SPACES[inline.t]
    else
      flush()
      local formula = inline.t == "Math" and "$" .. inline.text .. "$"
      local _, which = unseen:find_if(function(term)
        return formula and term.formulas[formula]
      end)
      if which then
        result:extend(explained({}, spelled(inline.text), {}, which))
      else
        if INNER[inline.t] then
          inline.content = with_terms(inline.content)
        end
        result:insert(inline)
      end
    end
  end
  flush()
  return result
end

local in_blocks

-- Quarto has made nodes of its own of callouts and floats; of a callout the second part is its text.
local function in_division(element)
  local of_quarto = element.attributes.__quarto_custom_type
  local kind = element.identifier:match("^(%a+)%-")
  local is_float = SKIPPED[kind] or element.classes:find_if(function(class)
    return class:match("^%a+%-float$") ~= nil
  end)
  local parts = element.content
  if of_quarto == "Callout" and parts[2] then
    local text = parts[2]
    text.content = in_blocks(text.content)
    parts[2] = text
    element.content = parts
  elseif not of_quarto and not is_float then
    element.content = in_blocks(parts)
  end
end

function in_blocks(blocks)
  for place, block in ipairs(blocks) do
    if block.t == "Para" or block.t == "Plain" then
      block.content = with_terms(block.content)
    elseif block.t == "BulletList" or block.t == "OrderedList" then
      local items = pandoc.List()
      for _, item in ipairs(block.content) do
        items:insert(in_blocks(item))
      end
      block.content = items
    elseif block.t == "Div" then
      in_division(block)
    end
    blocks[place] = block
  end
  return blocks
end

local function glossed(document)
  if not (places and places.terms and FORMAT:match("html")) then
    return nil
  end
  for _, term in ipairs(places.terms) do
    term.patterns, term.formulas = pandoc.List(), {}
    for _, form in ipairs(term.forms) do
      if form:match("^%$") then
        term.formulas[form] = true
      else
        term.patterns:insert(pattern_of(form))
      end
    end
    unseen:insert(term)
  end
  document.blocks = in_blocks(document.blocks)
  return document
end

return {
  { Meta = with_formulas },
  { CodeBlock = read, Code = code, Str = number },
  { Cite = cite },
  { traverse = "topdown", Header = untouched, Link = link, Span = all_to_cards, Image = image, Inlines = inlines },
  { Pandoc = glossed },
}
