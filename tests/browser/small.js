(() => {
  const small = new Map();
  for (const it of document.querySelectorAll("body *")) {
    const own = [...it.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || /^(STYLE|SCRIPT|TITLE)$/i.test(it.tagName) || !it.getClientRects().length) continue;
    let size = parseFloat(getComputedStyle(it).fontSize);
    const drawn = it.getScreenCTM?.();
    if (drawn) size *= Math.hypot(drawn.a, drawn.b);
    if (size < (drawn ? LEAST_DRAWN - 0.05 : LEAST) && !it.closest("sup, sub, math"))
      small.set(it.closest("main [id]")?.id || it.tagName, size.toFixed(1));
  }
  return [...small].map(([name, size]) => `${name} ${size} px`);
})()
