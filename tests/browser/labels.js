(() => {
  document.querySelectorAll("main :is(svg, math, pre)").forEach((it) => { it.style.display = ""; });
  document.querySelectorAll("main details").forEach((it) => { it.open = true; });
  const ugly = [];
  for (const figure of document.querySelectorAll("main figure")) {
    const name = figure.id || figure.closest("[id]").id;
    const labels = [...figure.querySelectorAll("svg text")].filter((it) =>
      it.getClientRects().length && it.textContent.trim() && it.getAttribute("opacity") !== "0");
    const boxes = labels.map((it) => it.getBoundingClientRect());
    boxes.forEach((one, at) => {
      if (one.left < -1 || one.right > innerWidth + 1)
        ugly.push(`${name} "${labels[at].textContent}" beyond the window`);
      boxes.slice(at + 1).forEach((other, after) => {
        const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
        if (wide > 1.5 && high > 3)
          ugly.push(`${name} "${[at, at + 1 + after].map((it) => labels[it].textContent)}" meet`);
      });
    });
  }
  return ugly;
})()
