-- What Quarto does to a document and pandoc does not, for pages and for print: callouts, numbers of sections,
-- figures, tables and equations, references to them, contents, captions, and images as part of the page.
--
-- A float is a figure or table with a caption: a division `::: {#fig-x}` whose last paragraph is the caption,
-- an image or table that bears the label itself, or a labelled chunk, which arrives as a division.

local NAMES = { fig = "Figure", tbl = "Table", sec = "Section", eq = "Equation" }
local KINDS = { "note", "tip", "warning", "caution", "important" }
local NO_BREAK = "\u{00a0}"
local PRINT = FORMAT == "typst"

local options = {}
local labels, names, headings, sections = {}, {}, pandoc.List(), {}
local counts = { fig = 0, tbl = 0, eq = 0 }
local top, citations = nil, pandoc.List()

local function raw(markup)
  return pandoc.RawBlock(FORMAT:match("html") and "html" or FORMAT, markup)
end

local function span(text, class)
  return pandoc.Span(type(text) == "string" and pandoc.Inlines(text) or text, pandoc.Attr("", { class }))
end

local function kind_of(identifier)
  local kind = identifier:match("^(%a+)%-")
  return NAMES[kind] and kind
end

local function keep(label, number)
  if labels[label] then
    error("A label must be used once; '" .. label .. "' is used again.", 0)
  end
  labels[label], names[label] = number, true
  return number
end

local function has_image(block)
  local is_text = block.t == "Para" or block.t == "Plain"
  return is_text and block.content:find_if(function(it) return it.t == "Image" end) ~= nil
end

-- A block in a box that scrolls sideways, by keys too, and says what it holds.
local function scrolling(block, class, name, value)
  local attributes = PRINT and pandoc.Attr()
    or pandoc.Attr("", { class }, { { "role", "group" }, { "tabindex", "0" }, { name, value } })
  return pandoc.Div({ block }, attributes)
end

-- Callouts: the kind is always written out, so that none differs from another by colour alone.
local function callout(element)
  local kind = nil
  for _, each in ipairs(KINDS) do
    kind = kind or (element.classes:includes("callout-" .. each) and each)
  end
  if not kind then
    return nil
  end
  local title, content = pandoc.Inlines(element.attributes.title or ""), element.content
  if #title == 0 and #content > 0 and content[1].t == "Header" then
    title = content:remove(1).content
  end
  local shown = kind:gsub("^%l", string.upper) .. (PRINT and ":" or "")
  local head = pandoc.Inlines({ span(shown, "callout-kind") })
  if #title > 0 then
    head:extend({ pandoc.Space(), span(title, "callout-name") })
  end
  local collapse, id = element.attributes.collapse, element.identifier
  local opening = (id ~= "" and ' id="' .. id .. '"' or "") .. ' class="callout callout-' .. kind .. '"'
  local parts = { '<div' .. opening .. ' role="note"><p class="callout-title">', '</p><div class="callout-body">', "</div></div>" }
  if PRINT then
    parts = { "#callout([", "], [", "])" }
  elseif collapse then
    local open = collapse == "false" and " open" or ""
    parts = { "<details" .. opening .. open .. '><summary class="callout-title">', '</summary><div class="callout-body">', "</div></details>" }
  end
  local blocks = pandoc.Blocks({ raw(parts[1]), pandoc.Plain(head), raw(parts[2]) })
  blocks:extend(content)
  blocks:insert(raw(parts[3]))
  return blocks
end

local function shifted(element)
  element.level = element.level + options.shift
  if not element.classes:includes("unnumbered") then
    top = math.min(top or element.level, element.level)
  end
  return element
end

-- Headings are numbered, listed, linked to, and a level lower: the title is the page's only first heading.
local function heading(element)
  local level, classes = element.level, element.classes
  if options.number_sections and not classes:includes("unnumbered") then
    local depth = level - top + 1
    for each = 1, depth do
      sections[each] = sections[each] or 0
    end
    for each = #sections, depth + 1, -1 do
      sections[each] = nil
    end
    sections[depth] = sections[depth] + 1
    element.content:insert(1, pandoc.Space())
    element.content:insert(1, span(keep(element.identifier, table.concat(sections, ".")), "section-number"))
  end
  if not classes:includes("unlisted") then
    headings:insert({ level = level, identifier = element.identifier, content = element.content:clone() })
  end
  names[element.identifier] = true
  if not PRINT then
    local attributes = { { "aria-label", "Link to section " .. pandoc.utils.stringify(element.content) } }
    element.content:insert(pandoc.Link("#", "#" .. element.identifier, "", pandoc.Attr("", { "anchor" }, attributes)))
    element.level = level + 1
  end
  return element, false
end

local function float(kind, label, caption, content)
  local number = NAMES[kind]
  if label ~= "" then
    counts[kind] = counts[kind] + 1
    number = number .. NO_BREAK .. keep(label, tostring(counts[kind]))
    caption:insert(1, span(number .. ": ", "float-number"))
  end
  local body = pandoc.Blocks(content):walk({
    Para = function(it) return has_image(it) and scrolling(it, "img-scroll", "aria-label", number) or nil end,
    Plain = function(it) return has_image(it) and scrolling(it, "img-scroll", "aria-label", number) or nil end,
    Div = function(it)
      if label ~= "" and it.classes:includes("table-scroll") then
        return scrolling(it.content[1], "table-scroll", "aria-labelledby", label .. "-caption")
      end
    end,
  })
  local named = label ~= "" and ' id="' .. label .. '"' or ""
  local legend_named = label ~= "" and ' id="' .. label .. '-caption"' or ""
  local before, legend, after = '<figure' .. named .. ' class="float float-' .. kind .. '">', "<figcaption" .. legend_named .. ">", "</figcaption>"
  local ending = "</figure>"
  if PRINT then
    -- A figure moves to the top or the foot of a page, and text fills its place; a table may break.
    before = '#figure(kind: "' .. kind .. '", supplement: none, numbering: none, ' .. (kind == "fig" and "placement: auto, [" or "caption: [")
    legend, after = kind == "fig" and "], caption: [", kind == "tbl" and "], ["
    ending = "])" .. (label ~= "" and " <" .. label .. ">" or "")
  end
  local words = pandoc.Blocks({ pandoc.Plain(caption) })
  if legend then words:insert(1, raw(legend)) end
  if after then words:insert(raw(after)) end
  local blocks = pandoc.Blocks({ raw(before) })
  for _, part in ipairs(kind == "tbl" and { words, body } or { body, words }) do
    blocks:extend(part)
  end
  blocks:insert(raw(ending))
  return blocks
end

local number_blocks  -- defined below, of what is numbered

-- A labelled division, or one that a captioned chunk became.
local function division(element)
  local classes = element.classes
  if PRINT and classes:includes("code") then
    return pandoc.Blocks({}), false
  end
  local kind = (classes:includes("fig-float") and "fig") or (classes:includes("tbl-float") and "tbl") or nil
  kind = element.identifier:match("^(fig)%-") or element.identifier:match("^(tbl)%-") or kind
  if not kind then
    names[element.identifier] = true
    element.classes = PRINT and {} or classes
    element.attributes = PRINT and {} or element.attributes
    return element
  end
  local caption = element.content[#element.content]
  if #element.content < 2 or not (caption.t == "Para" or caption.t == "Plain") or has_image(caption) then
    error("The division '" .. element.identifier .. "' must end with a paragraph, its caption; it does not.", 0)
  end
  local code, body = pandoc.Blocks({}), pandoc.Blocks({})
  for position, block in ipairs(element.content) do
    if block.t == "Div" and block.classes:includes("code") then
      code:insert(block)
    elseif position < #element.content then
      body:extend(block.t == "Figure" and block.content or { block })
    end
  end
  local shown = float(kind, element.identifier, caption.content, number_blocks(body))
  return PRINT and shown or code .. shown, false
end

local function figure(element)
  if element.identifier:match("^fig%-") then
    return float("fig", element.identifier, pandoc.utils.blocks_to_inlines(element.caption.long), element.content), false
  end
end

-- The name of a table without a caption: its heads.
local function table_name(element)
  local heads = pandoc.List()
  for _, row in ipairs(element.head.rows) do
    for _, cell in ipairs(row.cells) do
      local text = pandoc.utils.stringify(cell.contents):gsub("^%s+", ""):gsub("%s+$", "")
      if text ~= "" then heads:insert(text) end
    end
  end
  return #heads > 0 and "Table of " .. table.concat(heads, ", ") or "Table"
end

local function tabular(element)
  local label, caption = element.identifier, pandoc.utils.blocks_to_inlines(element.caption.long)
  element.identifier, element.caption = "", { long = {} }
  element.attr = pandoc.Attr("", element.classes)
  -- As Quarto's `tbl-colwidths: false`: the browser fits columns better than dashes do.
  element.colspecs = element.colspecs:map(function(it) return { it[1] } end)
  local box = scrolling(element, "table-scroll", "aria-label", table_name(element))
  if #caption == 0 then
    return box, false
  end
  return float("tbl", label, caption, { box }), false
end

local function equations(element)
  local inlines = pandoc.Inlines({})
  for _, inline in ipairs(element.content) do
    local label = inline.t == "Str" and inline.text:match("^{#(eq%-[%w_-]+)}$")
    if not label then
      inlines:insert(inline)
    else
      while #inlines > 0 and (inlines[#inlines].t == "Space" or inlines[#inlines].t == "SoftBreak") do
        inlines:remove()
      end
      if #inlines == 0 or inlines[#inlines].t ~= "Math" then
        error("The label '" .. label .. "' must follow a displayed formula.", 0)
      end
      counts.eq = counts.eq + 1
      local formula = span({ inlines:remove() }, "formula")
      local number = span("(" .. keep(label, tostring(counts.eq)) .. ")", "equation-number")
      inlines:insert(pandoc.Span({ formula, number }, pandoc.Attr(label, { "equation" })))
    end
  end
  return pandoc.Para(inlines)
end

local numbering = { traverse = "topdown", Header = heading, Div = division, Figure = figure, Table = tabular, Para = equations,
  Span = function(it) names[it.identifier] = true end }

number_blocks = function(blocks)
  return blocks:walk(numbering)
end

local missing = pandoc.List()

local function reference(element)
  local are_places, unknown = false, pandoc.List()
  for _, citation in ipairs(element.citations) do
    are_places = are_places or kind_of(citation.id)
    if not labels[citation.id] then unknown:insert("@" .. citation.id) end
  end
  if not are_places then
    citations:insert(element.citations[1].id)
    return nil
  end
  if #unknown > 0 then
    missing:extend(unknown)
    return nil
  end
  local inlines = pandoc.Inlines({})
  for position, citation in ipairs(element.citations) do
    local text = pandoc.Inlines(citation.prefix)
    if #text == 0 and citation.mode ~= "SuppressAuthor" then
      text:insert(pandoc.Str(NAMES[kind_of(citation.id)]))
    end
    if #text > 0 then text:insert(pandoc.Str(NO_BREAK)) end
    text:insert(pandoc.Str(labels[citation.id]))
    if position > 1 then inlines:extend({ pandoc.Str(","), pandoc.Space() }) end
    inlines:insert(pandoc.Link(text, "#" .. citation.id, "", pandoc.Attr("", { "xref" })))
    inlines:extend(citation.suffix)
  end
  return inlines
end

local function contents(from, to)
  local items, position = pandoc.List(), from
  while position <= to do
    local head, last = headings[position], position
    while last < to and headings[last + 1].level > head.level do
      last = last + 1
    end
    local item = pandoc.Blocks({ pandoc.Plain({ pandoc.Link(head.content, "#" .. head.identifier) }) })
    item:extend(contents(position + 1, last))
    items:insert(item)
    position = last + 1
  end
  return #items > 0 and pandoc.Blocks({ pandoc.BulletList(items) }) or pandoc.Blocks({})
end

local function finished(document)
  if #missing > 0 then
    error("These references name no numbered figure, table, equation or section: " .. table.concat(missing, ", "), 0)
  end
  if #citations > 0 then
    document.blocks:insert(pandoc.Header(PRINT and 1 or 2, "References", pandoc.Attr("references")))
    document.blocks:insert(pandoc.Div({}, pandoc.Attr("refs")))
    headings:insert({ level = top or 1, identifier = "references", content = pandoc.Inlines("References") })
    names["references"] = true
  end
  headings = headings:filter(function(it) return it.level <= options.toc_depth end)
  document.meta.contents = options.toc and #headings > 0 and contents(1, #headings) or nil
  return document
end

-- An image that a chunk showed is in a file as the markup that stands for it; any other is embedded.
local function image(element)
  if element.src:match("%.markup$") then
    local file = assert(io.open(element.src, "rb"))
    local markup = file:read("a")
    file:close()
    return pandoc.RawInline(FORMAT:match("html") and "html" or FORMAT, markup)
  end
  local alt = element.attributes["fig-alt"] or pandoc.utils.stringify(element.caption)
  if alt == "" then
    error("The image '" .. element.src .. "' has no alternative text: write {fig-alt=\"what it shows\"}.", 0)
  end
  local found, mime, content = pcall(pandoc.mediabag.fetch, element.src)
  if element.src:match("^%a+://") or not found or not mime or not mime:match("^image/") then
    error("The image '" .. element.src .. "' must be an image file; its path is relative to the main source.", 0)
  end
  if PRINT then
    return nil
  end
  element.attributes["fig-alt"], element.caption = nil, pandoc.Inlines({ pandoc.Str(alt) })
  element.classes:insert("picture")
  element.src = pandoc.mediabag.make_data_uri(mime, content)
  return element
end

local function alone(element)
  if #element.content == 1 and element.content[1].t == "Image" and not element.content[1].src:match("%.markup$") then
    return pandoc.Plain(element.content)
  end
end

-- On paper a link leads to an address or to a name of this document.
local function reached(element)
  local is_kept = element.target:match("^https?:") or element.target:match("^mailto:") or names[element.target:sub(2)]
  return not is_kept and element.content or nil
end

return {
  { Meta = function(meta)
      local function number(name, otherwise) return tonumber(pandoc.utils.stringify(meta[name] or otherwise)) end
      options = { toc = meta.toc, number_sections = meta["number-sections"], toc_depth = number("toc-depth", "3"), shift = number("shift-heading-level-by", "0") }
    end },
  { Div = callout },
  { Header = shifted },
  numbering,
  { Cite = reference },
  { Pandoc = finished },
  { Para = alone },
  { Image = image, Link = PRINT and reached or nil },
}
