-- What joins the pages of the site, for both renderers: a reference to a figure, table or section of
-- another page becomes a link to it, and the number of a claim a link to its card.
--
-- The places of the site come with the page, in a block of code of class `site-places` that the
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

return {
  { Meta = with_formulas },
  { CodeBlock = read, Code = code, Str = number },
  { Cite = cite },
  { traverse = "topdown", Header = untouched, Link = link, Span = all_to_cards, Image = image, Inlines = inlines },
}
